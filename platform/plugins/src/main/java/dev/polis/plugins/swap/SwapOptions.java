package dev.polis.plugins.swap;

import java.util.Objects;

/**
 * Holds the options of an order.
 *
 * @param who the caller, for the history
 * @param dryRun true to stop when the blast radius is known, without a change
 * @param force true to try a failed generation again; in a manual order also to overrule the
 *     cluster
 * @param older true to accept an older version than the running one
 * @param byCluster true if the node fulfils the cluster's wish; otherwise an operator gave the
 *     order
 */
public record SwapOptions(
    String who, boolean dryRun, boolean force, boolean older, boolean byCluster) {
  public SwapOptions {
    Objects.requireNonNull(who, "who");
  }

  /**
   * Creates the options of a manual order.
   *
   * @param who the caller
   * @param dryRun true to stop when the blast radius is known
   * @param force true to try a failed generation again, and to overrule the cluster
   * @param older true to accept an older version than the running one
   */
  public SwapOptions(String who, boolean dryRun, boolean force, boolean older) {
    this(who, dryRun, force, older, false);
  }

  /**
   * Creates the options of an order that fulfils the cluster's wish.
   *
   * @param older true to accept an older version than the running one
   * @return the options
   */
  public static SwapOptions byCluster(boolean older) {
    return new SwapOptions("the cluster", false, false, older, true);
  }

  /**
   * Creates options without exceptions.
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
   * Returns these options with the retry of a failed generation.
   *
   * @return other options
   */
  public SwapOptions forced() {
    return new SwapOptions(who, dryRun, true, older, byCluster);
  }
}
