package dev.polis.supervision;

import dev.polis.base.backoff.Uninterrupted;
import dev.polis.logtree.Log;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Calls one listener, in order, on a thread of its own. So a listener that hangs holds neither the
 * tree nor another listener.
 *
 * <p>Its thread is a platform thread: it calls the listener also while runnables that never block
 * occupy all carriers. Changes that the listener has not taken wait here, up to a limit; beyond it
 * the oldest are dropped. The log names a listener whose call lasts long, once for each loss, and
 * says when it returned.
 */
final class ListenerThread implements Supervisor.Registration {
  /** How long a call may last before the log names its listener. A call takes microseconds. */
  static final Duration LATE = Duration.ofSeconds(5);

  /** How long after that the log names it again. */
  private static final Duration REMINDER = Duration.ofMinutes(1);

  /** How many changes wait; ten thousand runnables that start and stop make forty thousand. */
  static final int LIMIT = 65_536;

  /** How long the end of the tree waits for the last calls. */
  private static final Duration LAST_CALLS = Duration.ofSeconds(1);

  private final TransitionListener listener;
  private final String name;
  private final Timer timer;
  private final Log log;
  private final int limit;
  private final Consumer<ListenerThread> onClose;
  private final Thread thread;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // All guarded by the lock.
  private final Queue<Consumer<TransitionListener>> waiting = new ArrayDeque<>();
  private Timer.Alarm alarm = () -> {};
  private boolean watched;
  private boolean calling;
  private boolean named;
  private long callBegan;
  private long dropped;
  private boolean ended;

  private ListenerThread(
      TransitionListener listener,
      Timer timer,
      Log log,
      int limit,
      Consumer<ListenerThread> onClose) {
    this.listener = listener;
    this.name = listener.getClass().getName();
    this.timer = timer;
    this.log = log;
    this.limit = limit;
    this.onClose = onClose;
    thread = Thread.ofPlatform().daemon().name("supervision-listener").unstarted(this::run);
  }

  /**
   * Starts the thread of a listener.
   *
   * @param limit how many changes wait for the listener at most
   * @param onClose is called when the listener is closed
   */
  static ListenerThread start(
      TransitionListener listener,
      Timer timer,
      Log log,
      int limit,
      Consumer<ListenerThread> onClose) {
    ListenerThread started = new ListenerThread(listener, timer, log, limit, onClose);
    started.thread.start();
    return started;
  }

  /** Adds a call, which is made after those before it; never waits for the listener. */
  void post(Consumer<TransitionListener> call) {
    boolean first = false;
    lock.lock();
    try {
      if (ended) {
        return;
      }
      if (waiting.size() == limit) {
        waiting.remove();
        first = dropped++ == 0;
      }
      waiting.add(call);
      if (!watched) {
        watchIn(LATE);
      }
      changed.signal();
    } finally {
      lock.unlock();
    }
    if (first) {
      log.warning(
          "the listener %s takes changes too slowly: %d wait, and the oldest are dropped from now"
              + " on; it is at %s",
          name, limit, Overdue.place(thread));
    }
  }

  private void watchIn(Duration delay) {
    watched = true;
    alarm = timer.schedule(delay.toNanos(), this::watch);
  }

  /** Names the listener if the present call lasts too long: on the timer's thread. */
  private void watch() {
    long lasted;
    int behind;
    lock.lock();
    try {
      if (!watched) {
        return;
      }
      lasted = calling ? timer.nanos() - callBegan : 0;
      if (lasted < LATE.toNanos()) {
        watchIn(LATE.minusNanos(lasted));
        return;
      }
      named = true;
      behind = waiting.size();
      watchIn(REMINDER);
    } finally {
      lock.unlock();
    }
    log.warning(
        "the listener %s has not returned from a call for %s: a defect; %d changes wait for it. It"
            + " is at %s",
        name, TreeEvents.seconds(lasted), behind, Overdue.place(thread));
  }

  private void run() {
    try {
      while (true) {
        Consumer<TransitionListener> call = next();
        try {
          call.accept(listener);
        } catch (Throwable failure) {
          log.error("the listener %s failed: %s", name, Failures.line(failure), failure);
        }
        returned();
      }
    } catch (InterruptedException end) {
      // Thrown by next() alone, when no call is left: the thread ends here.
      Thread.currentThread().interrupt();
    }
  }

  private Consumer<TransitionListener> next() throws InterruptedException {
    lock.lock();
    try {
      while (waiting.isEmpty()) {
        alarm.cancel();
        watched = false;
        if (ended) {
          throw new InterruptedException("the listener is closed");
        }
        changed.awaitUninterruptibly();
      }
      calling = true;
      callBegan = timer.nanos();
      return waiting.remove();
    } finally {
      lock.unlock();
    }
  }

  /** Says how late a call was that the log has named, and how many changes were dropped for it. */
  private void returned() {
    long lasted;
    long lost;
    boolean wasNamed;
    lock.lock();
    try {
      calling = false;
      lasted = timer.nanos() - callBegan;
      wasNamed = named;
      named = false;
      // A loss ends when the listener has taken all that waits.
      lost = wasNamed || waiting.isEmpty() ? dropped : 0;
      dropped -= lost;
      if (wasNamed) {
        alarm.cancel();
        watchIn(LATE);
      }
    } finally {
      lock.unlock();
    }
    if (wasNamed) {
      log.info(
          "the listener %s has returned at last, after %s; %d changes were dropped",
          name, TreeEvents.seconds(lasted), lost);
    } else if (lost > 0) {
      log.info("the listener %s has taken all changes but %d, which were dropped", name, lost);
    }
  }

  /**
   * Ends the calls: none begins after this. One that is under way ends by itself; one that the log
   * has named is interrupted.
   */
  @Override
  public void close() {
    boolean hangs;
    lock.lock();
    try {
      waiting.clear();
      ended = true;
      hangs = named;
      changed.signal();
    } finally {
      lock.unlock();
    }
    if (hangs) {
      thread.interrupt();
    }
    onClose.accept(this);
  }

  /** Accepts no more changes; those that wait are still delivered. */
  void end() {
    lock.lock();
    try {
      ended = true;
      changed.signal();
    } finally {
      lock.unlock();
    }
  }

  /** Waits for the end of the thread, a limited time, after {@link #end}. */
  void awaitEnd() {
    if (thread == Thread.currentThread() || Uninterrupted.join(thread, LAST_CALLS)) {
      return;
    }
    String place = Overdue.place(thread);
    thread.interrupt();
    log.error(
        "the listener %s does not return from a call at the end of the tree: a defect, its thread"
            + " is left behind. It is at %s",
        name, place);
  }
}
