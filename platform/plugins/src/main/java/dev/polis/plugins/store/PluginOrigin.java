package dev.polis.plugins.store;

import java.util.Objects;

/** Names the reason why a plugin runs on a node. */
public sealed interface PluginOrigin {

  /** Means that the plugin belongs to the node's distribution. */
  record FromDistribution() implements PluginOrigin {}

  /** Means that the node installed the plugin because the cluster wanted it. */
  record FromCluster() implements PluginOrigin {}

  /**
   * Means that an operator swapped the plugin in on this node, and the cluster had no wish for its
   * name.
   */
  record ByHand() implements PluginOrigin {}

  /**
   * Means that an operator swapped the plugin in on this node although the cluster wanted another
   * one.
   *
   * @param wanted the digest of the plugin that the cluster wanted then; the node keeps the
   *     operator's choice until the cluster's wish changes
   */
  record Overruling(Digest wanted) implements PluginOrigin {
    public Overruling {
      Objects.requireNonNull(wanted, "wanted");
    }
  }
}
