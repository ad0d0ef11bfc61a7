package dev.polis.cluster.it;

import dev.polis.fixtures.Tier;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Makes one call after the other, and counts answers and failures. In contrast to {@link
 * SteadyCaller} it goes on after a failure, since a run of an hour is to tell how many there were.
 */
final class CountingCaller {

  /** Failures whose text is kept. */
  private static final int KEPT = 5;

  /** One millisecond: a service that refuses everything is not asked as fast as a thread can. */
  private static final long PAUSE_AFTER_FAILURE = 1_000_000;

  /** Far shorter than a swap, and long enough that the load leaves it a core. */
  private static final long PAUSE = Tier.isLong() ? 0 : 5_000_000;

  private final String name;
  private final SteadyCaller.Call call;
  private final AnswerClock clock;
  private final AtomicLong answered = new AtomicLong();
  private final AtomicLong failed = new AtomicLong();
  private final Queue<String> failures = new ConcurrentLinkedQueue<>();
  private final Thread thread;
  private volatile boolean over;

  private CountingCaller(String name, AnswerClock clock, SteadyCaller.Call call) {
    this.name = name;
    this.clock = clock;
    this.call = call;
    this.thread = Thread.ofVirtual().name("caller of " + name).start(this::run);
  }

  static CountingCaller of(String name, AnswerClock clock, SteadyCaller.Call call) {
    return new CountingCaller(name, clock, call);
  }

  private void run() {
    while (!over) {
      long begun = System.nanoTime();
      try {
        call.make();
        clock.answered(begun);
        answered.incrementAndGet();
        LockSupport.parkNanos(PAUSE);
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

  /** Returns the first failures, in words. */
  List<String> failures() {
    return List.copyOf(failures);
  }

  /** Waits for the call under way, then ends: none is broken off. */
  void end() throws InterruptedException {
    over = true;
    thread.join();
  }
}
