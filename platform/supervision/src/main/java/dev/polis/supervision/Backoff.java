package dev.polis.supervision;

import java.time.Duration;
import java.util.function.DoubleSupplier;

/**
 * Computes how long a runnable that died waits before it starts again. Guarded by the tree's lock.
 */
final class Backoff {
  static final Duration FIRST = Duration.ofMillis(500);
  static final Duration LONGEST = Duration.ofSeconds(60);
  static final double GROWTH = 1.5;

  /**
   * Half of the delay in both directions, so that runnables that died together do not return
   * together.
   */
  static final double SPREAD = 0.5;

  /**
   * A runnable that becomes healthy and dies at once, over and over, would otherwise take a
   * processor for itself: one restart per second is for nothing, the next ones are delayed.
   */
  static final Duration BETWEEN_IMMEDIATE = Duration.ofSeconds(1);

  private final DoubleSupplier random;
  private double delay = FIRST.toNanos();
  private boolean healthySinceDeath;
  private boolean everImmediate;
  private long lastImmediate;

  /**
   * @param random numbers from 0 to 1, evenly spread
   */
  Backoff(DoubleSupplier random) {
    this.random = random;
  }

  /** Resets the delay after a run became healthy: the next delay is the shortest again. */
  void reset() {
    delay = FIRST.toNanos();
    healthySinceDeath = true;
  }

  /**
   * Returns the delay after a death.
   *
   * @param now the monotonic time, in nanoseconds
   * @return nanoseconds to wait, 0 or more
   */
  long next(long now) {
    if (immediate(now)) {
      everImmediate = true;
      lastImmediate = now;
      return 0;
    }
    double factor = 1 - SPREAD + 2 * SPREAD * random.getAsDouble();
    long wait = (long) (delay * factor);
    delay = Math.min(delay * GROWTH, LONGEST.toNanos());
    return wait;
  }

  private boolean immediate(long now) {
    boolean deserved = healthySinceDeath;
    healthySinceDeath = false;
    return deserved && (!everImmediate || now - lastImmediate >= BETWEEN_IMMEDIATE.toNanos());
  }
}
