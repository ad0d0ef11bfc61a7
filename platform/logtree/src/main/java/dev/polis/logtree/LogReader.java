package dev.polis.logtree;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Reads entries that match a {@link LogQuery}: first a backlog, which ends where the reader was
 * opened, then, if the query follows, a stream that begins exactly after it.
 *
 * <p>Its owner closes it. One thread reads; {@link #close} may come from any thread and wakes the
 * reading one at once.
 */
@ProviderType
public interface LogReader extends AutoCloseable {
  /** The most entries that a follower may lag behind before it loses some. */
  int BUFFER = 128;

  /**
   * The most estimated bytes of these entries. 128 usual lines take a fifth of it, and many idle
   * readers take no noticeable part of a node's memory.
   */
  long BUFFER_BYTES = 128 << 10;

  /**
   * Returns the backlog, oldest first; each call returns the same list. The first call reads it on
   * the calling thread.
   */
  List<LogEntry> backlog();

  /**
   * Returns the next part of the backlog, for a reader that cannot hold all of it. The tree keeps
   * nothing for the reader between two calls: if the log drops entries meanwhile, the page has a
   * gap.
   *
   * @param bytes estimated memory at which the part is full; it has at least one entry, unless the
   *     backlog has ended
   */
  LogPage page(long bytes);

  /**
   * Returns whether the log dropped entries of this backlog before the reader was opened. This
   * happens if the query resumes after a sequence number and a journal has dropped later entries,
   * or the number is from an earlier life of the process.
   */
  boolean resumedWithGap();

  /**
   * Waits for the next entries.
   *
   * @return the buffered entries, or nothing if the reader is closed and its buffer drained, or if
   *     its query does not follow
   * @throws InterruptedException if the waiting thread is interrupted; no entry is lost
   */
  Optional<LogBatch> next() throws InterruptedException;

  /**
   * Waits as {@link #next()} does, but no longer than {@code within}; after that the batch is
   * empty.
   *
   * @throws InterruptedException if the waiting thread is interrupted; no entry is lost
   */
  Optional<LogBatch> next(Duration within) throws InterruptedException;

  /**
   * Returns the sequence number with which {@link LogQuery#after} continues here. It is that of the
   * last returned entry, or else of the newest entry at the time the reader was opened.
   */
  long cursor();

  /** Ends the stream; buffered entries stay readable. A second close does nothing. */
  @Override
  void close();
}
