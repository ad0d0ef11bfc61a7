package dev.polis.base.backoff;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleSupplier;

/**
 * Computes pauses between attempts, each half as long again as the one before.
 *
 * <p>Not thread-safe: its owner is one thread, or holds a lock.
 */
public final class Backoff {

  // The usual figures of exponential back-off, as in Google's and Kubernetes' clients.
  private static final double GROWTH = 1.5;
  // A spread of half of the pause keeps callers that failed together from returning together.
  private static final double SPREAD = 0.5;

  /** Waits; a test passes the time in another way. */
  @FunctionalInterface
  interface Sleep {
    void sleep(Duration pause) throws InterruptedException;
  }

  private final long first;
  private final long longest;
  private final DoubleSupplier random;
  private final Sleep sleep;
  private double next;

  /**
   * Begins with the first pause and random spreads.
   *
   * @param first the middle of the first pause, more than zero
   * @param longest middle of the longest pause, not less than the first
   */
  public Backoff(Duration first, Duration longest) {
    this(first, longest, () -> ThreadLocalRandom.current().nextDouble());
  }

  /**
   * Begins with the first pause, spread by these numbers.
   *
   * @param first middle of the first pause, more than zero
   * @param longest middle of the longest pause, not less than the first
   * @param random numbers from 0 to 1, evenly spread
   */
  public Backoff(Duration first, Duration longest, DoubleSupplier random) {
    this(first, longest, random, Thread::sleep);
  }

  Backoff(Duration first, Duration longest, DoubleSupplier random, Sleep sleep) {
    if (first.isNegative() || first.isZero() || longest.compareTo(first) < 0) {
      throw new IllegalArgumentException(
          "a back-off from %s to %s; give a first pause above zero and a longest not below it"
              .formatted(first, longest));
    }
    this.first = first.toNanos();
    this.longest = longest.toNanos();
    this.random = random;
    this.sleep = sleep;
    this.next = this.first;
  }

  /** Returns the pause before the next attempt, and lengthens the one after it. */
  public Duration next() {
    double factor = 1 - SPREAD + 2 * SPREAD * random.getAsDouble();
    long pause = (long) (next * factor);
    next = Math.min(next * GROWTH, longest);
    return Duration.ofNanos(pause);
  }

  /** Waits for the next pause. */
  public void pause() throws InterruptedException {
    sleep.sleep(next());
  }

  /** Resets the next pause to the first, after a successful attempt. */
  public void reset() {
    next = first;
  }
}
