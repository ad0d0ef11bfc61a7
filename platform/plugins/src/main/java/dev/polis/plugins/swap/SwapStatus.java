package dev.polis.plugins.swap;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/** Describes the progress of one swap. Immutable. */
public final class SwapStatus {
  private final long number;
  private final String what;
  private final Set<String> plugins;
  private final String who;
  private final Instant began;
  private final List<SwapStage> stages;

  /** The outcome; null while the swap is running. */
  private final SwapOutcome outcomeOrNull;

  private SwapStatus(
      long number,
      String what,
      Set<String> plugins,
      String who,
      Instant began,
      List<SwapStage> stages,
      SwapOutcome outcomeOrNull) {
    this.number = number;
    this.what = what;
    this.plugins = Set.copyOf(plugins);
    this.who = who;
    this.began = began;
    this.stages = stages;
    this.outcomeOrNull = outcomeOrNull;
  }

  /**
   * Returns the status of a beginning swap.
   *
   * @param number the number of the swap in this process, from 1
   * @param what the order, as a text for people
   * @param plugins the symbolic names of the plugins in the order
   * @param who the caller
   * @param began the time of the begin
   * @return a status without stages
   */
  public static SwapStatus begun(
      long number, String what, Set<String> plugins, String who, Instant began) {
    return new SwapStatus(
        number,
        Objects.requireNonNull(what, "what"),
        plugins,
        Objects.requireNonNull(who, "who"),
        Objects.requireNonNull(began, "began"),
        List.of(),
        null);
  }

  SwapStatus with(SwapStage stage) {
    List<SwapStage> longer = new ArrayList<>(stages);
    longer.add(stage);
    return new SwapStatus(number, what, plugins, who, began, List.copyOf(longer), outcomeOrNull);
  }

  /**
   * Returns this status at the end of the swap.
   *
   * @param how its outcome
   * @return another status
   */
  public SwapStatus ended(SwapOutcome how) {
    return new SwapStatus(
        number, what, plugins, who, began, stages, Objects.requireNonNull(how, "how"));
  }

  /** Returns the number of the swap in this process, from 1. */
  public long number() {
    return number;
  }

  /** Returns the order, as a text for people. */
  public String what() {
    return what;
  }

  /** Returns the symbolic names of the plugins in the order. */
  public Set<String> plugins() {
    return plugins;
  }

  /** Returns the caller. */
  public String who() {
    return who;
  }

  /** Returns the time of the begin. */
  public Instant began() {
    return began;
  }

  /** Returns the finished stages, in order. */
  public List<SwapStage> stages() {
    return stages;
  }

  /** Returns the outcome; empty while the swap is running. */
  public Optional<SwapOutcome> outcome() {
    return Optional.ofNullable(outcomeOrNull);
  }

  @Override
  public String toString() {
    return "swap %d (%s, by %s): %s, %s".formatted(number, what, who, stages, outcome());
  }
}
