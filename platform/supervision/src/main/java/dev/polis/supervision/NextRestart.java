package dev.polis.supervision;

import java.time.Instant;

/** Holds the time of a runnable's next start. */
public sealed interface NextRestart {

  /**
   * Means that no restart is scheduled: the runnable runs, is done, stops, or waits for the return
   * of others.
   */
  record None() implements NextRestart {}

  /**
   * Means that the runnable waits for the end of a delay.
   *
   * @param time the end of the delay
   */
  record At(Instant time) implements NextRestart {}
}
