package dev.polis.plugins.swap;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * How far one swap has come.
 *
 * @param number counts the swaps of this process up from 1
 * @param what what was ordered, in words
 * @param who who ordered it
 * @param began when
 * @param stages what was done so far, in order
 * @param outcome how it ended; empty while it is under way
 */
public record SwapStatus(
    long number,
    String what,
    String who,
    Instant began,
    List<SwapStage> stages,
    Optional<SwapOutcome> outcome) {

  /** Copies the stages. */
  public SwapStatus {
    Objects.requireNonNull(what, "what");
    Objects.requireNonNull(who, "who");
    Objects.requireNonNull(began, "began");
    stages = List.copyOf(stages);
  }

  SwapStatus with(SwapStage stage) {
    List<SwapStage> longer = new ArrayList<>(stages);
    longer.add(stage);
    return new SwapStatus(number, what, who, began, longer, outcome);
  }

  SwapStatus ended(SwapOutcome how) {
    return new SwapStatus(number, what, who, began, stages, Optional.of(how));
  }
}
