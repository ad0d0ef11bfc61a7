package dev.polis.cluster;

import java.util.Set;

/** Lists the phases of the manager. */
enum EnrolmentPhase {
  /** The manager has decided about nothing yet. */
  NEW,
  /** The node founds a new cluster. */
  CREATING_CLUSTER,
  /** The node registers at a cluster, and waits for its approval. */
  REGISTERING,
  /** A former member comes back. */
  JOINING,
  /** The node is a member. */
  RUNNING,
  /** The enrolment has failed. */
  FAILED;

  /** Returns the possible next phases. */
  Set<EnrolmentPhase> successors() {
    return switch (this) {
      case NEW -> Set.of(CREATING_CLUSTER, REGISTERING, JOINING);
      case CREATING_CLUSTER, REGISTERING, JOINING -> Set.of(RUNNING, FAILED);
      case RUNNING, FAILED -> Set.of();
    };
  }

  boolean isTerminal() {
    return this == RUNNING || this == FAILED;
  }
}
