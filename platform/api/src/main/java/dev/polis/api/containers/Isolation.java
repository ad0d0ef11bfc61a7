package dev.polis.api.containers;

/** How far containers are kept apart from the machine they run on. */
public enum Isolation {
  /** In a network and a mount namespace of their own; nothing of the machine's own changes. */
  NAMESPACES,
  /** On the machine itself, which belongs to this node. */
  MACHINE
}
