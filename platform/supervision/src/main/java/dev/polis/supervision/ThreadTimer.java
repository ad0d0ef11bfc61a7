package dev.polis.supervision;

import java.time.Instant;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Measures real time, with one thread that sleeps until the next alarm.
 *
 * <p>It is a platform thread: virtual threads stand still while runnables that never block use all
 * carriers, and the tree must report exactly that.
 */
final class ThreadTimer implements Timer {

  /** Orders alarms by time, then by their creation. */
  private record Due(long nanos, long order) {
    static final Comparator<Due> BY_TIME =
        (a, b) -> {
          // The difference, since nanoTime may wrap round.
          int byTime = Long.signum(a.nanos - b.nanos);
          return byTime != 0 ? byTime : Long.compare(a.order, b.order);
        };
  }

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final TreeMap<Due, Runnable> alarms = new TreeMap<>(Due.BY_TIME);
  private final Consumer<Throwable> onFailure;
  private final Thread thread;
  private long made;
  private boolean closed;

  /**
   * @param onFailure receives the exceptions of actions
   */
  ThreadTimer(Consumer<Throwable> onFailure) {
    this.onFailure = onFailure;
    thread = Thread.ofPlatform().daemon().name("supervision-timer").start(this::ring);
  }

  @Override
  public long nanos() {
    return System.nanoTime();
  }

  @Override
  public Instant time() {
    return Instant.now();
  }

  @Override
  public Alarm schedule(long delayNanos, Runnable action) {
    lock.lock();
    try {
      if (closed) {
        return () -> {};
      }
      Due due = new Due(nanos() + delayNanos, made++);
      alarms.put(due, action);
      if (alarms.firstKey().equals(due)) {
        changed.signal();
      }
      return () -> cancel(due);
    } finally {
      lock.unlock();
    }
  }

  private void cancel(Due due) {
    lock.lock();
    try {
      alarms.remove(due);
    } finally {
      lock.unlock();
    }
  }

  private void ring() {
    try {
      while (true) {
        Runnable action = await();
        try {
          action.run();
        } catch (Throwable failure) {
          onFailure.accept(failure);
        }
      }
    } catch (InterruptedException end) {
      // Thrown only by the close of the timer: the thread ends here.
      Thread.currentThread().interrupt();
    }
  }

  private Runnable await() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (true) {
        if (closed) {
          throw new InterruptedException("the timer is closed");
        }
        if (alarms.isEmpty()) {
          changed.await();
          continue;
        }
        Map.Entry<Due, Runnable> first = alarms.firstEntry();
        long left = first.getKey().nanos() - nanos();
        if (left <= 0) {
          alarms.remove(first.getKey());
          return first.getValue();
        }
        changed.awaitNanos(left);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Ends the thread and drops the scheduled alarms; waits for a running action, unless the action
   * itself calls it.
   */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      alarms.clear();
      changed.signal();
    } finally {
      lock.unlock();
    }
    if (Thread.currentThread() != thread) {
      Uninterrupted.join(thread, Subtree.PATIENCE);
    }
  }
}
