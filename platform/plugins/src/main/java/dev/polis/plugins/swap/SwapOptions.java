package dev.polis.plugins.swap;

import java.util.Objects;

/**
 * Holds the options of an order.
 *
 * @param who the caller, for the history
 * @param dryRun stop when the blast radius is known; nothing is changed
 * @param force try a generation again that failed before; by hand also overrule the cluster
 * @param older accept a version that is older than the one that runs
 * @param byCluster the node does what the cluster wants; otherwise an operator ordered it by hand
 */
public record SwapOptions(
    String who, boolean dryRun, boolean force, boolean older, boolean byCluster) {
  /** Refuses a missing name. */
  public SwapOptions {
    Objects.requireNonNull(who, "who");
  }

  /**
   * Makes the options of an order by hand.
   *
   * @param who the caller
   * @param dryRun stop when the blast radius is known
   * @param force try a generation again that failed before, and overrule what the cluster wants
   * @param older accept a version that is older than the one that runs
   */
  public SwapOptions(String who, boolean dryRun, boolean force, boolean older) {
    this(who, dryRun, force, older, false);
  }

  /**
   * Makes the options of an order that the node gives itself because the cluster wants it.
   *
   * @param older accept a version that is older than the one that runs
   * @return the options
   */
  public static SwapOptions byCluster(boolean older) {
    return new SwapOptions("the cluster", false, false, older, true);
  }

  /**
   * Makes options without exceptions.
   *
   * @param who the caller
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
    return new SwapOptions(who, true, force, older, byCluster);
  }

  /**
   * Returns these options, with a generation that failed before tried again.
   *
   * @return other options
   */
  public SwapOptions forced() {
    return new SwapOptions(who, dryRun, true, older, byCluster);
  }
}
