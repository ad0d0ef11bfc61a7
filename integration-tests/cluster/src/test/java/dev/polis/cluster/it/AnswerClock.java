package dev.polis.cluster.it;

import java.time.Duration;

/**
 * Measures how long the callers of a service go without an answer. Calls of many threads are
 * measured by one clock: a time counts as a gap when none of them was answered.
 */
final class AnswerClock {

  /**
   * What was measured in one stretch of time.
   *
   * @param gap the longest time in which no call was answered
   * @param slowest how long the slowest call took that was answered in it
   */
  record Stretch(Duration gap, Duration slowest) {}

  private long newest = System.nanoTime();
  private long gap;
  private long slowest;

  /** Notes that a call was answered at this moment. */
  synchronized void answered(long begun) {
    long now = System.nanoTime();
    gap = Math.max(gap, now - newest);
    slowest = Math.max(slowest, now - begun);
    newest = now;
  }

  /** Ends a stretch and begins the next one. A gap that still lasts counts in both. */
  synchronized Stretch next() {
    Stretch measured =
        new Stretch(
            Duration.ofNanos(Math.max(gap, System.nanoTime() - newest)), Duration.ofNanos(slowest));
    gap = 0;
    slowest = 0;
    return measured;
  }
}
