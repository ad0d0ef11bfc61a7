package dev.polis.cluster;

import dev.polis.api.cluster.ClusterState;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.cluster.ConsensusUnavailableException;
import dev.polis.api.cluster.ConsensusUser;
import dev.polis.etcd.EtcdAccess;
import dev.polis.pki.NodeCredentials;
import java.util.Optional;
import java.util.function.Function;

/** Holds a status: a state, its reason and, for a member, its access to the cluster. */
final class ClusterSnapshot implements ClusterStatus {

  /** Holds the access of a member. */
  record Membership(
      NodeCredentials credentials,
      boolean localConsensus,
      Function<ConsensusUser, EtcdAccess> consensus) {}

  private final ClusterState state;
  private final String reason;
  private final Membership membership;

  private ClusterSnapshot(ClusterState state, String reason, Membership membership) {
    this.state = state;
    this.reason = reason;
    this.membership = membership;
  }

  static ClusterSnapshot outside(ClusterState state, String reason) {
    return new ClusterSnapshot(state, reason, null);
  }

  static ClusterSnapshot member(ClusterState state, String reason, Membership membership) {
    return new ClusterSnapshot(state, reason, membership);
  }

  @Override
  public ClusterState state() {
    return state;
  }

  @Override
  public String reason() {
    return reason;
  }

  @Override
  public Optional<NodeCredentials> credentials() {
    return Optional.ofNullable(membership).map(Membership::credentials);
  }

  @Override
  public boolean hasLocalConsensus() {
    return membership != null && membership.localConsensus();
  }

  @Override
  public EtcdAccess consensusClient(ConsensusUser user) {
    if (state != ClusterState.HOME && state != ClusterState.SPLIT) {
      throw new ConsensusUnavailableException(
          "refusing connection with cluster state %s: %s; wait for HOME"
              .formatted(state, state.meaning()));
    }
    if (membership == null) {
      throw new ConsensusUnavailableException(
          "not connected: the node is %s but has no membership yet".formatted(state));
    }
    if (!membership.localConsensus()) {
      throw new ConsensusUnavailableException(
          "this node has no direct access to etcd; ask the curator of another node");
    }
    return membership.consensus().apply(user);
  }

  @Override
  public String toString() {
    return state + " (" + reason + ")";
  }
}
