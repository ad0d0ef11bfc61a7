package dev.polis.roles;

import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusCandidate;
import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.api.consensus.ConsensusInvitation;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.consensus.LocalMember;
import dev.polis.api.curator.Curator;
import dev.polis.api.curator.CuratorException;
import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleName;
import dev.polis.base.backoff.Backoff;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.logtree.Log;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.supervision.AnyChange;
import dev.polis.supervision.Context;
import dev.polis.wire.cluster.JoinConsensusRequest;
import dev.polis.wire.cluster.JoinConsensusResponse;
import dev.polis.wire.cluster.LeaveConsensusRequest;
import dev.polis.wire.cluster.MembershipGrpc;
import dev.polis.wire.cluster.MembershipGrpc.MembershipBlockingV2Stub;
import io.grpc.StatusException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Makes this node a member of etcd while it has the role ConsensusMember, and ends the member after
 * the cluster has taken the role away.
 *
 * <p>It keeps no state of its own: each step begins with the role, the member on the disk and the
 * leader's answer, so it continues after a crash of this node or of the leader at any point.
 */
final class ConsensusRole {

  /** The pause before a learner asks for its vote again, about the time of one snapshot. */
  private static final Duration FIRST_PAUSE = Duration.ofMillis(250);

  /** The longest pause: a learner that has caught up has its vote within a second or two. */
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);

  private final Consensus consensus;
  private final Curator curator;
  private final Value<LocalRoles> roles;
  private final LeaderConnection connection;
  private final Supplier<NodeCredentials> credentials;
  private String lastObstacle = "";

  /**
   * @param connection reaches the leader
   * @param credentials returns this node's newest credentials
   */
  ConsensusRole(
      Consensus consensus,
      Curator curator,
      Value<LocalRoles> roles,
      LeaderConnection connection,
      Supplier<NodeCredentials> credentials) {
    this.consensus = consensus;
    this.curator = curator;
    this.roles = roles;
    this.connection = connection;
    this.credentials = credentials;
  }

  /** Takes steps until nothing is left to do, at each change of the role or of the member. */
  void run(Context context) throws InterruptedException {
    MutableValue<Long> changes = new MutableValue<>(0L);
    AnyChange.follow(
        context,
        Map.of("wanted", roles, "member", consensus.status()),
        () -> changes.update(before -> before.orElseThrow() + 1));
    context.healthy();
    try (Watcher<Long> change = changes.watch()) {
      while (true) {
        change.get();
        Backoff backoff = new Backoff(FIRST_PAUSE, LONGEST_PAUSE);
        while (!settled(context.log())) {
          await(change, backoff.next());
        }
      }
    }
  }

  private static void await(Watcher<Long> change, Duration pause) throws InterruptedException {
    try {
      change.get(pause);
    } catch (TimeoutException unchanged) {
      // The leader may have another answer by now.
      return;
    }
  }

  /** Takes one step; returns whether only a change makes another one useful. */
  private boolean settled(Log log) throws InterruptedException {
    // The remembered roles are older than the node's last contact with the cluster.
    Optional<LocalRoles> now = roles.peek().filter(LocalRoles::fromCluster);
    if (now.isEmpty()) {
      return true;
    }
    try {
      boolean settled =
          now.get().roles().contains(RoleName.CONSENSUS_MEMBER) ? joined(log) : left(log);
      lastObstacle = "";
      return settled;
    } catch (StatusException | ConsensusException | CuratorException | PkiException notNow) {
      if (!lastObstacle.equals(notNow.getMessage())) {
        lastObstacle = notNow.getMessage();
        log.warning("the role ConsensusMember waits: %s", lastObstacle);
      }
      return false;
    }
  }

  // ---- into etcd

  private boolean joined(Log log) throws InterruptedException, StatusException {
    ConsensusStatus status = consensus.status().peek().orElseThrow();
    if (status instanceof ConsensusStatus.Running) {
      curator.serve(credentials.get());
      return true;
    }
    Optional<LocalMember> member = consensus.localMember();
    if (member.isPresent() && !member.get().learner()) {
      start(status);
      return true;
    }
    if (member.isEmpty()) {
      // A member that etcd has removed leaves a curator without records.
      stepDown();
    }
    JoinConsensusResponse answer = leader().joinConsensus(request());
    switch (answer.getStandingCase()) {
      case INVITATION -> {
        if (member.isEmpty()) {
          log.info("etcd of the cluster has a place for this node");
        }
        consensus.join(identity(), invitation(answer.getInvitation()));
      }
      case LEARNER, VOTER -> start(status);
      case REMOVED -> {
        log.warning("etcd does not know the member of this node; the node joins as another member");
        consensus.discard();
      }
      case STANDING_NOT_SET ->
          throw new ConsensusException(
              "the leader has a newer version and gives an answer that this node does not know; update this node");
    }
    return false;
  }

  private void start(ConsensusStatus status) {
    if (status instanceof ConsensusStatus.Stopped) {
      consensus.startExisting(identity());
    }
  }

  private JoinConsensusRequest request() {
    ConsensusCandidate candidate = consensus.candidate();
    return JoinConsensusRequest.newBuilder()
        .setPeerUrl(candidate.peerUrl())
        .setMemberId(
            candidate.memberId().isEmpty() ? 0 : Long.parseUnsignedLong(candidate.memberId(), 16))
        .build();
  }

  private static ConsensusInvitation invitation(JoinConsensusResponse.Invitation invitation) {
    return new ConsensusInvitation(
        Long.toHexString(invitation.getMemberId()),
        Long.toHexString(invitation.getClusterId()),
        invitation.getOthersList(),
        Pem.certificate(invitation.getCaCertificate().toByteArray()),
        Ed25519.privateKey(invitation.getCaKey().toByteArray()));
  }

  // ---- out of etcd

  private boolean left(Log log) throws InterruptedException, StatusException {
    if (consensus.localMember().isEmpty()) {
      return true;
    }
    // First the leadership, then the vote, then the data: each is gone before the next one could
    // be missed.
    stepDown();
    leader().leaveConsensus(LeaveConsensusRequest.getDefaultInstance());
    log.info("etcd of the cluster has removed the member of this node");
    consensus.discard();
    return true;
  }

  /** Lets the curators of other nodes keep the records; does nothing if they do already. */
  private void stepDown() {
    NodeId own = credentials.get().id();
    Set<NodeEndpoint> others =
        connection.curators().peek().orElse(Set.of()).stream()
            .filter(curatorOf -> !curatorOf.node().equals(own))
            .collect(Collectors.toSet());
    if (others.isEmpty()) {
      throw new CuratorException(
          "no other node with a curator is known yet; at least one must keep the records");
    }
    curator.follow(credentials.get(), others);
  }

  private ConsensusIdentity identity() {
    return ConsensusIdentity.of(credentials.get().privateKey());
  }

  private MembershipBlockingV2Stub leader() {
    return MembershipGrpc.newBlockingV2Stub(connection.channel())
        .withWaitForReady()
        .withDeadlineAfter(LeaderConnection.REPORT);
  }
}
