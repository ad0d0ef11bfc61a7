package dev.polis.curator.leader;

/** Selects the nodes that a client watches. */
public sealed interface NodeSelection {

  /** Returns whether a node is one of them. */
  boolean has(String id);

  /** One node, which need not exist yet. */
  record One(String id) implements NodeSelection {
    @Override
    public boolean has(String other) {
      return id.equals(other);
    }
  }

  /** All nodes. The stream marks the end of the initial states. */
  record All() implements NodeSelection {
    @Override
    public boolean has(String id) {
      return true;
    }
  }
}
