package dev.polis.plugins.store;

import java.util.Objects;

/** Names the reason why a plugin runs on a node. */
public sealed interface PluginOrigin {

  /** It came with the node's distribution. */
  record FromDistribution() implements PluginOrigin {}

  /** The node brought it because the cluster wanted it. */
  record FromCluster() implements PluginOrigin {}

  /** An operator swapped it in on this node, and the cluster wanted nothing under its name. */
  record ByHand() implements PluginOrigin {}

  /**
   * An operator swapped it in on this node although the cluster wanted another.
   *
   * @param wanted the digest of what the cluster wanted then; it is left alone until the cluster
   *     wants something else
   */
  record Overruling(Digest wanted) implements PluginOrigin {
    /** Refuses a missing digest. */
    public Overruling {
      Objects.requireNonNull(wanted, "wanted");
    }
  }
}
