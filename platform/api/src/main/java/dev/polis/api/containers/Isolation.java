package dev.polis.api.containers;

/** Lists the kinds of isolation between containers and their machine. */
public enum Isolation {
  /** In a network and a mount namespace of their own; nothing of the machine's own changes. */
  NAMESPACES,
  /** On the machine itself, which belongs to this node. */
  MACHINE
}
