package dev.polis.base.values;

import java.time.Duration;
import java.util.HashSet;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Holds a value in memory, which its owner sets.
 *
 * <p>It knows only the watchers that wait at this moment. An open watcher that does not wait costs
 * nothing here, and the garbage collector frees a forgotten one.
 *
 * @param <T> the type of the value; immutable
 */
public final class MutableValue<T> implements Value<T> {

  /**
   * Holds a value and its place in the order of all values; version 0 without a value means "never
   * set".
   */
  private record Versioned<T>(long version, T value) {
    Optional<T> state() {
      return Optional.ofNullable(value);
    }
  }

  private final ReentrantLock lock = new ReentrantLock();
  private final Set<MemoryWatcher> waiting = new HashSet<>();
  private volatile Versioned<T> newest = new Versioned<>(0, null);

  /** Creates an empty value: watchers wait for the first {@link #set}. */
  public MutableValue() {}

  /**
   * Creates a value.
   *
   * @param first the initial state
   */
  public MutableValue(T first) {
    set(first);
  }

  /**
   * Replaces the value and wakes all waiting readers; never blocks for a reader.
   *
   * @param value the new state
   */
  public void set(T value) {
    Objects.requireNonNull(
        value, "a value cannot be set to null: say 'absent' with a state of its own");
    lock.lock();
    try {
      replace(value);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Replaces the value by one computed from it, with no other change in between.
   *
   * @param change gets the present value, empty if never set, and returns the new one; it runs
   *     under this value's lock, so it must neither block nor touch a value. If it throws, nothing
   *     changes.
   * @return the new value
   */
  public T update(Function<Optional<T>, ? extends T> change) {
    lock.lock();
    try {
      T value =
          Objects.requireNonNull(
              change.apply(newest.state()), "an update returned null instead of the new state");
      replace(value);
      return value;
    } finally {
      lock.unlock();
    }
  }

  private void replace(T value) {
    newest = new Versioned<>(newest.version() + 1, value);
    waiting.forEach(watcher -> watcher.changed.signal());
  }

  @Override
  public Optional<T> peek() {
    return newest.state();
  }

  @Override
  public Watcher<T> watch() {
    return new MemoryWatcher();
  }

  /** Returns the number of watchers that wait in a get. */
  int waiting() {
    lock.lock();
    try {
      return waiting.size();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public String toString() {
    return newest.state().map(value -> "Value[" + value + "]").orElse("Value[never set]");
  }

  private final class MemoryWatcher implements Watcher<T> {
    private static final long FOR_EVER = Long.MAX_VALUE;

    private final Condition changed = lock.newCondition();
    private long seen;

    /** The thread inside a get; null if there is none. */
    private Thread reader;

    private boolean closed;

    @Override
    public T get(Predicate<? super T> wanted) throws InterruptedException {
      return find(wanted, FOR_EVER)
          .orElseThrow(() -> new AssertionError("a wait without a limit ended without a value"));
    }

    @Override
    public T get(Predicate<? super T> wanted, Duration within)
        throws InterruptedException, TimeoutException {
      Optional<T> found = find(wanted, nanos(within));
      if (found.isEmpty()) {
        throw new TimeoutException(
            "no new value within "
                + within
                + "; the newest is "
                + peek().map(Object::toString).orElse("not set yet"));
      }
      return found.get();
    }

    @Override
    public Optional<T> poll() {
      enter();
      try {
        return take();
      } finally {
        leave();
      }
    }

    private Optional<T> find(Predicate<? super T> wanted, long nanos) throws InterruptedException {
      enter();
      try {
        long start = System.nanoTime();
        while (true) {
          long left = nanos == FOR_EVER ? FOR_EVER : nanos - (System.nanoTime() - start);
          Optional<T> next = await(left);
          if (next.isEmpty() || wanted.test(next.get())) {
            return next;
          }
        }
      } finally {
        leave();
      }
    }

    /** Waits for one new value; returns empty when the time is over. */
    private Optional<T> await(long nanos) throws InterruptedException {
      lock.lockInterruptibly();
      try {
        waiting.add(this);
        long left = nanos;
        while (newest.version() == seen && !closed && left > 0) {
          if (nanos == FOR_EVER) {
            changed.await();
          } else {
            left = changed.awaitNanos(left);
          }
        }
        return take();
      } finally {
        waiting.remove(this);
        lock.unlock();
      }
    }

    private Optional<T> take() {
      lock.lock();
      try {
        requireOpen();
        Versioned<T> now = newest;
        if (now.version() == seen) {
          return Optional.empty();
        }
        seen = now.version();
        return now.state();
      } finally {
        lock.unlock();
      }
    }

    private void enter() {
      lock.lock();
      try {
        requireOpen();
        if (reader != null) {
          throw new IllegalStateException(
              "thread '%s' asks a watcher that thread '%s' already waits in: a watcher belongs to one reader, open one each"
                  .formatted(name(Thread.currentThread()), name(reader)));
        }
        reader = Thread.currentThread();
      } finally {
        lock.unlock();
      }
    }

    private void leave() {
      lock.lock();
      try {
        reader = null;
      } finally {
        lock.unlock();
      }
    }

    private void requireOpen() {
      if (closed) {
        throw new WatcherClosedException("this watcher is closed: open another one with watch()");
      }
    }

    @Override
    public void close() {
      lock.lock();
      try {
        closed = true;
        changed.signal();
      } finally {
        lock.unlock();
      }
    }
  }

  private static String name(Thread thread) {
    return thread.getName().isEmpty() ? "#" + thread.threadId() : thread.getName();
  }

  /** Converts a wait to nanoseconds; one beyond 292 years counts as 292 years. */
  private static long nanos(Duration within) {
    try {
      return Math.min(within.toNanos(), Long.MAX_VALUE - 1);
    } catch (ArithmeticException tooLong) {
      return within.isNegative() ? 0 : Long.MAX_VALUE - 1;
    }
  }
}
