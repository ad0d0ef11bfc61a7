package dev.polis.api.consensus;

import java.util.Objects;

/** Lists the standings of a node in etcd, as the leader's etcd sees them. */
public sealed interface ConsensusStanding {

  /**
   * Means that etcd has a learner for the node, and that the node has no data of it.
   *
   * @param invitation the data for its first start
   */
  record Invited(ConsensusInvitation invitation) implements ConsensusStanding {
    public Invited {
      Objects.requireNonNull(invitation, "invitation");
    }
  }

  /** Means that the node's member has no vote yet. */
  record Learner() implements ConsensusStanding {}

  /** Means that the node's member has a vote. */
  record Voter() implements ConsensusStanding {}

  /** Means that etcd does not know the member whose data the node has. */
  record Removed() implements ConsensusStanding {}
}
