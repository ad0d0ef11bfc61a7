package dev.polis.logtree;

import java.time.Duration;

/**
 * Limits how much a tree keeps.
 *
 * @param entriesPerJournal newest entries kept of each name
 * @param bytes bytes kept over all journals, estimated
 * @param timeToLive how long after its last entry a journal is kept of which no {@link Log} or
 *     {@link RawLog} is held
 */
public record LogLimits(int entriesPerJournal, long bytes, Duration timeToLive) {
  /**
   * 8192 entries are some hours of a busy organ. 32 MiB hold about 150,000 entries of usual length
   * and are a third of a node's heap, the rest of which is enough for everything else. An hour is
   * enough for a person to read the log of what vanished.
   */
  public static final LogLimits DEFAULT = new LogLimits(8192, 32L << 20, Duration.ofHours(1));

  /** Refuses limits under which nothing could be kept. */
  public LogLimits {
    if (entriesPerJournal < 1 || bytes < 1 || timeToLive.isNegative()) {
      throw new IllegalArgumentException(
          "limits must be positive: entries=%d bytes=%d timeToLive=%s"
              .formatted(entriesPerJournal, bytes, timeToLive));
    }
  }
}
