package dev.polis.supervision;

import dev.polis.base.backoff.Backoff;
import java.time.Duration;
import java.util.function.DoubleSupplier;

/**
 * Decides how long a runnable that died waits before it starts again: not at all if it has been
 * healthy, else for a pause that grows with each death. Guarded by the tree's lock.
 */
final class RestartDelay {
  private static final Duration FIRST = Duration.ofMillis(500);
  private static final Duration LONGEST = Duration.ofSeconds(60);

  /**
   * A runnable that becomes healthy and dies at once, over and over, would otherwise take a
   * processor for itself: one restart per second is for nothing, the next ones are delayed.
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

  /** Notes that a run became healthy: the next delay is the shortest again. */
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
