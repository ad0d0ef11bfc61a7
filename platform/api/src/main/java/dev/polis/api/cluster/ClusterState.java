package dev.polis.api.cluster;

/** Lists the relations of a node to its cluster. */
public enum ClusterState {
  /** Booting; not determined yet. */
  UNKNOWN("the node has not determined yet whether it belongs to a cluster"),
  /** A cluster was contacted and has not accepted the node yet. */
  FOREIGN("the node has registered and waits for an operator's approval"),
  /** The cluster has accepted the node, which now commits its keys. */
  TRUSTED("the node is approved and hands over its half of the volume key"),
  /** A member; the normal state. */
  HOME("the node is a member of its cluster"),
  /** Removed by the operator; the node never belongs to a cluster again. */
  DISOWNING("the cluster has disowned this node"),
  /** Would be HOME, but there is no contact to consensus. */
  SPLIT("the node is a member, but has lost contact to consensus");

  private final String meaning;

  ClusterState(String meaning) {
    this.meaning = meaning;
  }

  /** Returns what the state means for a person, as half a sentence. */
  public String meaning() {
    return meaning;
  }
}
