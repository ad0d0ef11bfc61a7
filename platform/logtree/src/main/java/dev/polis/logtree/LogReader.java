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
  /** Entries that a follower may lag behind before it loses some. */
  int BUFFER = 128;

  /**
   * Estimated memory of these entries, at most: 128 usual lines take a fifth of it, and many
   * readers that do not read take no noticeable part of a node's memory.
   */
  long BUFFER_BYTES = 128 << 10;

  /**
   * Returns the backlog, oldest first; the same list at each call. It is read at the first call, by
   * the reading thread.
   */
  List<LogEntry> backlog();

  /**
   * Returns the next part of the backlog; instead of {@link #backlog}, for those who cannot hold
   * all of it. Nothing is kept for the reader between two calls: what the log drops meanwhile is
   * reported as a gap.
   *
   * @param bytes estimated memory at which the part is full; it has at least one entry, unless the
   *     backlog has ended
   */
  LogPage page(long bytes);

  /**
   * Returns whether entries that this reader ought to have had in its backlog had been dropped
   * before: the query resumes after a sequence number, and a journal gave up later entries for want
   * of room, or the number is from an earlier life of the process.
   */
  boolean resumedWithGap();

  /**
   * Waits for the next entries.
   *
   * @return the buffered entries, or nothing if the reader is closed and its buffer drained, or if
   *     its query does not follow
   * @throws InterruptedException if the waiting thread is interrupted; nothing is lost by that
   */
  Optional<LogBatch> next() throws InterruptedException;

  /**
   * Waits as {@link #next()} does, but no longer than {@code within}; after that the batch is
   * empty.
   *
   * @throws InterruptedException if the waiting thread is interrupted; nothing is lost by that
   */
  Optional<LogBatch> next(Duration within) throws InterruptedException;

  /**
   * Returns the sequence number with which {@link LogQuery#after} continues where this reader is:
   * that of the last entry handed out, or else of the newest entry when the reader was opened.
   */
  long cursor();

  /** Ends the stream. What is buffered can still be read. Closing twice does nothing. */
  @Override
  void close();
}
