package dev.polis.health;

/** What a status is about. */
public enum HealthKind {
  /** A part of the node program, which is one bundle. */
  ORGAN,
  /** A job that the cluster gave to this node. */
  ROLE
}
