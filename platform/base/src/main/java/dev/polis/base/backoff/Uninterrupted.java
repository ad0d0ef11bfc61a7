package dev.polis.base.backoff;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Waits for events in spite of interrupts, since stopped code still has to wait for its own
 * threads. It restores the interrupt afterwards.
 */
public final class Uninterrupted {

  private Uninterrupted() {}

  /** Is a call that waits. */
  @FunctionalInterface
  public interface Wait {
    boolean call() throws InterruptedException;
  }

  /** Waits for a latch; returns whether it has reached zero. */
  public static boolean await(CountDownLatch latch, Duration patience) {
    long end = System.nanoTime() + patience.toNanos();
    return call(() -> latch.await(end - System.nanoTime(), TimeUnit.NANOSECONDS));
  }

  /** Waits for a thread; returns whether it has ended. */
  public static boolean join(Thread thread, Duration patience) {
    long end = System.nanoTime() + patience.toNanos();
    return call(() -> thread.join(Duration.ofNanos(end - System.nanoTime())));
  }

  /** Makes a call again after each interrupt of it, and returns its answer. */
  public static boolean call(Wait wait) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return wait.call();
        } catch (InterruptedException again) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
