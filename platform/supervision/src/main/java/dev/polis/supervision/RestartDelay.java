package dev.polis.supervision;

import dev.polis.base.backoff.Backoff;
import java.time.Duration;
import java.util.function.DoubleSupplier;

/**
 * Computes the delay before a dead runnable starts again: none after a healthy run, else a pause
 * that grows with each death. The tree's lock guards it.
 */
final class RestartDelay {
  private static final Duration FIRST = Duration.ofMillis(500);
  private static final Duration LONGEST = Duration.ofSeconds(60);

  /**
   * The shortest time between two restarts without a delay. A runnable that becomes healthy and
   * dies at once, again and again, must not use a whole processor: one restart per second has no
   * delay, further ones have.
   */
  private static final Duration BETWEEN_IMMEDIATE = Duration.ofSeconds(1);

  private final Backoff backoff;
  private boolean healthySinceDeath;
  private boolean everImmediate;
  private long lastImmediate;

  /**
   * @param random numbers from 0 to 1, evenly spread
   */
  RestartDelay(DoubleSupplier random) {
    backoff = new Backoff(FIRST, LONGEST, random);
  }

  /** Records that a run became healthy: the next delay is the shortest again. */
  void reset() {
    backoff.reset();
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
    return backoff.next().toNanos();
  }

  private boolean immediate(long now) {
    boolean deserved = healthySinceDeath;
    healthySinceDeath = false;
    return deserved && (!everImmediate || now - lastImmediate >= BETWEEN_IMMEDIATE.toNanos());
  }
}
