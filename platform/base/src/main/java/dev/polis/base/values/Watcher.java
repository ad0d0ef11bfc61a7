package dev.polis.base.values;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Returns the new states of a {@link Value} to one reader.
 *
 * <p>Each get returns a value that is newer than all values this watcher has returned. A watcher
 * belongs to one reader: at most one thread is inside a get at a time, a second one is refused.
 * {@link #close()} may be called from any thread.
 *
 * <p><b>For implementers.</b> Four methods are abstract; the others are made of them. An
 * implementation keeps these rules:
 *
 * <ul>
 *   <li>an interrupted get throws {@link InterruptedException} and loses nothing: the next get
 *       still returns what is pending;
 *   <li>a predicate is called without any lock held, and a value it rejects counts as seen;
 *   <li>closing ends a waiting get with {@link WatcherClosedException};
 *   <li>a get reports an unreadable newest state once, as {@link ValueException}; the watcher
 *       continues;
 *   <li>loss of the place the value lives in is not an end: get waits until it is back.
 * </ul>
 *
 * @param <T> what is watched
 */
@ConsumerType
public interface Watcher<T> extends AutoCloseable {

  /**
   * Waits for the next value.
   *
   * @return a value newer than all this watcher has returned
   * @throws InterruptedException if the calling thread is interrupted; the watcher stays usable
   * @throws WatcherClosedException if the watcher is closed, before or during the wait
   * @throws IllegalStateException if another thread is inside a get of this watcher
   * @throws ValueException if the newest state cannot be understood; the next get waits for a newer
   *     one
   */
  default T get() throws InterruptedException {
    return get(value -> true);
  }

  /**
   * Waits for the next wanted value, and skips the others.
   *
   * @param wanted selects the value; called by this thread, without locks; its exception ends the
   *     get
   * @return the first wanted value
   * @throws InterruptedException as for {@link #get()}
   */
  T get(Predicate<? super T> wanted) throws InterruptedException;

  /**
   * Waits for the next value, for a limited time.
   *
   * @param within the longest wait; zero or less means no wait
   * @return the next value
   * @throws InterruptedException as for {@link #get()}
   * @throws TimeoutException if no new value came in time; the watcher stays usable
   */
  default T get(Duration within) throws InterruptedException, TimeoutException {
    return get(value -> true, within);
  }

  /**
   * Waits for the next wanted value, for a limited time.
   *
   * @param wanted as for {@link #get(Predicate)}
   * @param within the longest wait in all; zero or less means no wait
   * @return the first wanted value
   * @throws InterruptedException as for {@link #get()}
   * @throws TimeoutException if no wanted value came in time; the watcher stays usable
   */
  T get(Predicate<? super T> wanted, Duration within) throws InterruptedException, TimeoutException;

  /**
   * Takes the next value if it is there.
   *
   * @return the next value, or empty when this watcher has seen the newest one
   * @throws WatcherClosedException if the watcher is closed
   * @throws IllegalStateException if another thread is inside a get of this watcher
   * @throws ValueException if the newest state cannot be understood
   */
  Optional<T> poll();

  /** Ends this watcher and a get that waits in it. Further calls do nothing. */
  @Override
  void close();
}
