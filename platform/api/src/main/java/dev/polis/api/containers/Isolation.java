package dev.polis.api.containers;

/** Lists the kinds of isolation between containers and their machine. */
public enum Isolation {
  /**
   * Containers have a network and a mount namespace of their own; the machine's own stay unchanged.
   */
  NAMESPACES,
  /** Containers run on the machine itself, which belongs to this node. */
  MACHINE
}
