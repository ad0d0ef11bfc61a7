package dev.polis.logtree;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Reads entries that match a {@link LogQuery}: first a backlog, taken when the reader was opened,
 * then, if the query follows, a stream that begins exactly after it.
 *
 * <p>Its owner closes it. One thread reads; {@link #close} may come from any thread and wakes the
 * reading one at once.
 */
@ProviderType
public interface LogReader extends AutoCloseable {
  /** Entries that a follower may lag behind before it loses some. */
  int BUFFER = 128;

  /** Returns the backlog, oldest first; the same list at each call. */
  List<LogEntry> backlog();

  /**
   * Returns whether entries that this reader ought to have had in its backlog had been dropped
   * before: the query resumes after a sequence number, and a journal gave up later entries for want
   * of room, or the number is from an earlier life of the process.
   */
  boolean resumedWithGap();

  /**
   * Waits for the next entries.
   *
   * @return what is buffered, or nothing if the reader is closed and its buffer drained, or if its
   *     query does not follow
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
