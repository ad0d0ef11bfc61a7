package dev.polis.cluster.it;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Tier;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/** Calls a node repeatedly, one call after the other, and keeps the first failure. */
final class SteadyCaller implements AutoCloseable {

  /** A call. */
  @FunctionalInterface
  interface Call {
    void make() throws Exception;
  }

  /**
   * The pause between two calls, far shorter than a gap that a person would notice: fifty calls a
   * second show an interruption, and more of them would take a core from the node. The long form
   * has no pause.
   */
  private static final Duration PAUSE = Tier.isLong() ? Duration.ZERO : Duration.ofMillis(20);

  private final AtomicInteger answered = new AtomicInteger();
  private final AtomicReference<Exception> failure = new AtomicReference<>();
  private final Thread thread;

  private SteadyCaller(Call call, Duration pause) {
    thread = Thread.ofVirtual().name("steady caller").start(() -> run(call, pause));
  }

  static SteadyCaller of(Call call) {
    return new SteadyCaller(call, PAUSE);
  }

  /** Makes calls that take much work themselves, with a pause that leaves the work to the node. */
  static SteadyCaller ofLarge(Call call) {
    return new SteadyCaller(call, PAUSE.multipliedBy(5));
  }

  private void run(Call call, Duration pause) {
    try {
      while (!Thread.currentThread().isInterrupted()) {
        call.make();
        answered.incrementAndGet();
        LockSupport.parkNanos(pause.toNanos());
      }
    } catch (Exception e) {
      if (!Thread.currentThread().isInterrupted()) {
        failure.set(e);
      }
    }
  }

  int answered() {
    return answered.get();
  }

  /** Waits until calls that begin now are answered; fails with the first failed one. */
  void awaitMore(String when) throws Exception {
    int before = answered.get();
    // Waits for the call under way, and for one that begins after it.
    Await.until(
        TestNode.PATIENCE,
        "calls to be answered " + when,
        () -> {
          check(when);
          return answered.get() >= before + 2;
        });
  }

  void check(String when) {
    if (failure.get() != null) {
      throw new AssertionError("a call was not answered " + when, failure.get());
    }
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
