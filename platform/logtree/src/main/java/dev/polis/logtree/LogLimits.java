package dev.polis.logtree;

import java.time.Duration;

/**
 * Limits the content of a tree.
 *
 * @param entriesPerJournal the most entries of each name
 * @param bytes the most bytes of all journals together, estimated
 * @param timeToLive the time after its last entry for which the tree keeps a journal without a
 *     {@link Log} or {@link RawLog}
 */
public record LogLimits(int entriesPerJournal, long bytes, Duration timeToLive) {
  /**
   * The default limits. 8192 entries are some hours of a busy organ. 32 MiB hold about 150,000
   * entries of usual length and are a third of a node's heap, the rest of which is enough for
   * everything else. An hour is enough for a person to read the log of what vanished.
   */
  public static final LogLimits DEFAULT = new LogLimits(8192, 32L << 20, Duration.ofHours(1));

  /** Refuses limits that would keep no entry. */
  public LogLimits {
    if (entriesPerJournal < 1 || bytes < 1 || timeToLive.isNegative()) {
      throw new IllegalArgumentException(
          "limits must be positive: entries=%d bytes=%d timeToLive=%s"
              .formatted(entriesPerJournal, bytes, timeToLive));
    }
  }
}
