package dev.polis.api.cluster;

/** Lists the relations of a node to its cluster. */
public enum ClusterState {
  /** The node boots and has not determined its standing. */
  UNKNOWN("the node has not determined yet whether it belongs to a cluster"),
  /** A cluster was contacted and has not accepted the node yet. */
  FOREIGN("the node has registered and waits for an operator's approval"),
  /** The cluster has accepted the node, which now hands over its half of the volume key. */
  TRUSTED("the node is approved and hands over its half of the volume key"),
  /** The node is a member; the normal state. */
  HOME("the node is a member of its cluster"),
  /** The operator has removed the node, which never belongs to a cluster again. */
  DISOWNING("the cluster has disowned this node"),
  /** The node is a member without contact to consensus. */
  SPLIT("the node is a member, but has lost contact to consensus");

  private final String meaning;

  ClusterState(String meaning) {
    this.meaning = meaning;
  }

  /** Returns the meaning of the state for a person, as half a sentence. */
  public String meaning() {
    return meaning;
  }
}
