package dev.polis.cluster;

import java.util.Set;

/** Lists the phases of the manager. */
enum EnrolmentPhase {
  /** The manager has decided nothing yet. */
  NEW,
  /** The node founds a new cluster. */
  CREATING_CLUSTER,
  /** A former member comes back. */
  JOINING,
  /** Done; the node is a member. */
  RUNNING,
  /** The manager has given up. */
  FAILED;

  /** Returns the phases to which the manager may move from this one. */
  Set<EnrolmentPhase> successors() {
    return switch (this) {
      case NEW -> Set.of(CREATING_CLUSTER, JOINING);
      case CREATING_CLUSTER, JOINING -> Set.of(RUNNING, FAILED);
      case RUNNING, FAILED -> Set.of();
    };
  }

  boolean isTerminal() {
    return this == RUNNING || this == FAILED;
  }
}
