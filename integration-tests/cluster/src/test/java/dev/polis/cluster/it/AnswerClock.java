package dev.polis.cluster.it;

import java.time.Duration;

/**
 * Measures the longest time in which the callers of a service get no answer. One clock measures the
 * calls of many threads: a time is a gap if none of them got an answer.
 */
final class AnswerClock {

  /**
   * The measurements of one period.
   *
   * @param gap the longest time without an answer @param slowest the time of the slowest call that
   *     was answered in the period
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

  /** Ends a period and begins the next one. A gap that still lasts counts in both. */
  synchronized Stretch next() {
    Stretch measured =
        new Stretch(
            Duration.ofNanos(Math.max(gap, System.nanoTime() - newest)), Duration.ofNanos(slowest));
    gap = 0;
    slowest = 0;
    return measured;
  }
}
