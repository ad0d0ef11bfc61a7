package dev.polis.supervision;

import java.time.Instant;

/** Says when a runnable starts again. */
public sealed interface NextRestart {

  /** No restart is scheduled: it runs, is done, stops, or others have to return first. */
  record None() implements NextRestart {}

  /**
   * It waits out a delay.
   *
   * @param time when the delay ends
   */
  record At(Instant time) implements NextRestart {}
}
