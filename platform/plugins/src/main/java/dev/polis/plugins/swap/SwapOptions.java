package dev.polis.plugins.swap;

import java.util.Objects;

/**
 * How an order is to be carried out.
 *
 * @param who who ordered it, for the history
 * @param dryRun stop when the blast radius is known; nothing is changed
 * @param force try a generation again that failed before
 * @param older accept a version that is older than the one that runs
 */
public record SwapOptions(String who, boolean dryRun, boolean force, boolean older) {
  /** Refuses a missing name. */
  public SwapOptions {
    Objects.requireNonNull(who, "who");
  }

  /**
   * Makes options without exceptions.
   *
   * @param who who ordered it
   * @return the options
   */
  public static SwapOptions by(String who) {
    return new SwapOptions(who, false, false, false);
  }

  /**
   * Returns these options for a dry run.
   *
   * @return other options
   */
  public SwapOptions dry() {
    return new SwapOptions(who, true, force, older);
  }

  /**
   * Returns these options, with a generation that failed before tried again.
   *
   * @return other options
   */
  public SwapOptions forced() {
    return new SwapOptions(who, dryRun, true, older);
  }
}
