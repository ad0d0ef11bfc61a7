package dev.polis.supervision;

import dev.polis.base.backoff.Uninterrupted;
import java.time.Instant;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
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
  public synchronized Alarm schedule(long delayNanos, Runnable action) {
    if (closed) {
      return () -> {};
    }
    Due due = new Due(nanos() + delayNanos, made++);
    alarms.put(due, action);
    if (alarms.firstKey().equals(due)) {
      notifyAll();
    }
    return () -> cancel(due);
  }

  private synchronized void cancel(Due due) {
    alarms.remove(due);
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

  private synchronized Runnable await() throws InterruptedException {
    while (true) {
      if (closed) {
        throw new InterruptedException("the timer is closed");
      }
      if (alarms.isEmpty()) {
        wait();
        continue;
      }
      Map.Entry<Due, Runnable> first = alarms.firstEntry();
      long left = first.getKey().nanos() - nanos();
      if (left <= 0) {
        alarms.remove(first.getKey());
        return first.getValue();
      }
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
  }

  /**
   * Ends the thread and drops the scheduled alarms; waits for a running action, unless the action
   * itself calls it.
   */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      alarms.clear();
      notifyAll();
    }
    if (Thread.currentThread() != thread) {
      Uninterrupted.join(thread, Subtree.PATIENCE);
    }
  }
}
