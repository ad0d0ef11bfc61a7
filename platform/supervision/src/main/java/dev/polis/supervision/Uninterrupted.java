package dev.polis.supervision;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Waits for an event, for a limited time that an interrupt does not shorten, since stopped code
 * still has to wait for its own threads. It restores the interrupt afterwards.
 */
final class Uninterrupted {

  private Uninterrupted() {}

  @FunctionalInterface
  private interface Wait {
    boolean until(long nanos) throws InterruptedException;
  }

  static boolean await(CountDownLatch latch, Duration patience) {
    return await(nanos -> latch.await(nanos, TimeUnit.NANOSECONDS), patience);
  }

  static boolean join(Thread thread, Duration patience) {
    return await(nanos -> thread.join(Duration.ofNanos(nanos)), patience);
  }

  private static boolean await(Wait wait, Duration patience) {
    long start = System.nanoTime();
    boolean interrupted = false;
    try {
      while (true) {
        long left = Math.max(0, patience.toNanos() - (System.nanoTime() - start));
        try {
          return wait.until(left);
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
