package dev.polis.cluster.it;

import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Makes one call after the other, and counts answers and failures. In contrast to {@link
 * SteadyCaller} it continues after a failure, since a long run counts all failures.
 */
final class CountingCaller {

  /** The number of failures whose text is kept. */
  private static final int KEPT = 5;

  /**
   * One millisecond between calls, so that a service that refuses all of them is not called in a
   * busy loop.
   */
  private static final long PAUSE_AFTER_FAILURE = 1_000_000;

  private final String name;
  private final SteadyCaller.Call call;
  private final AnswerClock clock;
  private final Duration pause;
  private final AtomicLong answered = new AtomicLong();
  private final AtomicLong failed = new AtomicLong();
  private final Queue<String> failures = new ConcurrentLinkedQueue<>();
  private final Thread thread;
  private volatile boolean over;

  private CountingCaller(String name, AnswerClock clock, Duration pause, SteadyCaller.Call call) {
    this.name = name;
    this.clock = clock;
    this.pause = pause;
    this.call = call;
    this.thread = Thread.ofVirtual().name("caller of " + name).start(this::run);
  }

  /**
   * @param pause the time between an answer and the next call
   */
  static CountingCaller of(String name, AnswerClock clock, Duration pause, SteadyCaller.Call call) {
    return new CountingCaller(name, clock, pause, call);
  }

  private void run() {
    while (!over) {
      long begun = System.nanoTime();
      try {
        call.make();
        clock.answered(begun);
        answered.incrementAndGet();
        LockSupport.parkNanos(pause.toNanos());
      } catch (Exception e) {
        if (failed.incrementAndGet() <= KEPT) {
          failures.add(name + ": " + e);
        }
        LockSupport.parkNanos(PAUSE_AFTER_FAILURE);
      }
    }
  }

  long answered() {
    return answered.get();
  }

  long failed() {
    return failed.get();
  }

  /** Returns the texts of the first failures. */
  List<String> failures() {
    return List.copyOf(failures);
  }

  /** Ends after the call under way, so that none is interrupted. */
  void end() throws InterruptedException {
    over = true;
    thread.join();
  }
}
