package dev.polis.health;

/** Lists the subjects of a status. */
public enum HealthKind {
  /** A part of the node program, which is one bundle. */
  ORGAN,
  /** A job that the cluster gave to this node. */
  ROLE
}
