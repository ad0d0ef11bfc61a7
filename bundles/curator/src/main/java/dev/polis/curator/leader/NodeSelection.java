package dev.polis.curator.leader;

/** Says which nodes a client watches. */
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

  /** All nodes. The end of the states at the beginning is marked. */
  record All() implements NodeSelection {
    @Override
    public boolean has(String id) {
      return true;
    }
  }
}
