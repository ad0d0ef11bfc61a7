package dev.polis.etcd;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Growing, jittered pauses between attempts. Not thread-safe: its user holds a lock or is one
 * thread.
 */
final class Backoff {

  private static final double GROWTH = 2.0;
  // A quarter either way keeps clients that failed together from coming back together.
  private static final double JITTER = 0.25;

  private final long first;
  private final long most;
  private long next;

  Backoff(Duration first, Duration most) {
    this.first = first.toNanos();
    this.most = most.toNanos();
    this.next = this.first;
  }

  /** The pause to make before the next attempt, in nanoseconds. */
  long nextNanos() {
    double factor = 1 + JITTER * (2 * ThreadLocalRandom.current().nextDouble() - 1);
    long pause = (long) (next * factor);
    next = Math.min(most, (long) (next * GROWTH));
    return pause;
  }

  void pause() throws InterruptedException {
    Thread.sleep(Duration.ofNanos(nextNanos()));
  }

  void reset() {
    next = first;
  }
}
