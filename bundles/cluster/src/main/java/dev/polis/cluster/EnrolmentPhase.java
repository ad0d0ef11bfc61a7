package dev.polis.cluster;

import java.util.Set;

/** Lists the phases of the manager. */
enum EnrolmentPhase {
  /** The manager has decided about nothing yet. */
  NEW,
  /** The node founds a new cluster. */
  CREATING_CLUSTER,
  /** The node is a former member that joins again. */
  JOINING,
  /** The node is a member. */
  RUNNING,
  /** The enrolment has failed. */
  FAILED;

  /** Returns the possible next phases. */
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
