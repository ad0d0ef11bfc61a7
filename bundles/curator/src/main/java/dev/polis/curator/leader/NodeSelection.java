package dev.polis.curator.leader;

/** Selects the nodes that a client watches. */
public sealed interface NodeSelection {

  /** Returns whether a node is in the selection. */
  boolean has(String id);

  /** Selects one node, which need not exist yet. */
  record One(String id) implements NodeSelection {
    @Override
    public boolean has(String other) {
      return id.equals(other);
    }
  }

  /** Selects all nodes; the stream marks the end of the initial states. */
  record All() implements NodeSelection {
    @Override
    public boolean has(String id) {
      return true;
    }
  }
}
