package dev.polis.cluster;

import java.util.Set;

/** How far the manager has come. */
enum EnrolmentPhase {
  /** Nothing decided yet. */
  NEW,
  /** The first node of a new cluster. */
  CREATING_CLUSTER,
  /** A node that was a member before comes back. */
  JOINING,
  /** Done; the node is a member. */
  RUNNING,
  /** Given up. */
  FAILED;

  /** Returns the phases that may follow this one at the manager's own wish. */
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
