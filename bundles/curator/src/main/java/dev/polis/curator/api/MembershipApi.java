package dev.polis.curator.api;

import com.google.protobuf.ByteString;
import dev.polis.api.consensus.ConsensusCandidate;
import dev.polis.api.consensus.ConsensusInvitation;
import dev.polis.api.consensus.ConsensusStanding;
import dev.polis.curator.leader.ApiCalls;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.leader.LeaderTerm;
import dev.polis.curator.leader.TrustFeeds;
import dev.polis.curator.record.NodeRecords;
import dev.polis.curator.record.Refusal;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcPeer;
import dev.polis.wire.cluster.FollowTrustRequest;
import dev.polis.wire.cluster.GetRevocationsRequest;
import dev.polis.wire.cluster.GetRevocationsResponse;
import dev.polis.wire.cluster.GetUnlockKeyRequest;
import dev.polis.wire.cluster.GetUnlockKeyResponse;
import dev.polis.wire.cluster.JoinConsensusRequest;
import dev.polis.wire.cluster.JoinConsensusResponse;
import dev.polis.wire.cluster.LeaveConsensusRequest;
import dev.polis.wire.cluster.LeaveConsensusResponse;
import dev.polis.wire.cluster.MembershipGrpc;
import dev.polis.wire.cluster.RenewCertificateRequest;
import dev.polis.wire.cluster.RenewCertificateResponse;
import dev.polis.wire.cluster.TrustLists;
import dev.polis.wire.curator.stored.Node;
import io.grpc.stub.StreamObserver;
import java.security.PublicKey;
import java.time.Duration;

/**
 * Serves the Membership API, for members that run no etcd: trust, certificate, unlock key, and the
 * steps into etcd and out of it.
 */
public final class MembershipApi extends MembershipGrpc.MembershipImplBase {

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final LeaderGate gate;
  private final TrustFeeds trust;
  private final ConsensusMembers members;

  public MembershipApi(LeaderGate gate, TrustFeeds trust, ConsensusMembers members) {
    this.gate = gate;
    this.trust = trust;
    this.members = members;
  }

  @Override
  public void followTrust(FollowTrustRequest request, StreamObserver<TrustLists> caller) {
    ApiCalls.run(gate::require);
    try {
      trust.serve(caller);
    } catch (InterruptedException gone) {
      // The caller disconnected, or the node ended the call.
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void renewCertificate(
      RenewCertificateRequest request, StreamObserver<RenewCertificateResponse> caller) {
    NodeId self = RpcPeer.current().requireNode();
    ApiCalls.unary(
        gate,
        caller,
        term -> {
          PublicKey key = Ed25519.publicKey(member(term, self).getPublicKey().toByteArray());
          return RenewCertificateResponse.newBuilder()
              .setNodeCertificate(ByteString.copyFrom(Pem.der(term.pki().ensureNode(self, key))))
              .build();
        });
  }

  @Override
  public void getRevocations(
      GetRevocationsRequest request, StreamObserver<GetRevocationsResponse> caller) {
    ByteString list =
        trust
            .revocations()
            .orElseThrow(
                () ->
                    RpcException.unavailable(
                        "this curator does not know the revocation list yet; call again", RETRY));
    caller.onNext(GetRevocationsResponse.newBuilder().setRevocations(list).build());
    caller.onCompleted();
  }

  @Override
  public void getUnlockKey(
      GetUnlockKeyRequest request, StreamObserver<GetUnlockKeyResponse> caller) {
    NodeId self = RpcPeer.current().requireNode();
    ApiCalls.unary(
        gate,
        caller,
        term ->
            GetUnlockKeyResponse.newBuilder()
                .setClusterUnlockKey(member(term, self).getClusterUnlockKey())
                .build());
  }

  @Override
  public void joinConsensus(
      JoinConsensusRequest request, StreamObserver<JoinConsensusResponse> caller) {
    NodeId self = RpcPeer.current().requireNode();
    if (ReportedAddress.ofUrl(request.getPeerUrl()).isEmpty()) {
      throw Refusal.invalid("peer_url \"%s\" has no IP address", request.getPeerUrl());
    }
    Node node = ApiCalls.run(() -> gate.during(term -> member(term, self)));
    if (!node.getRoles().hasConsensusMember()) {
      throw Refusal.precondition(
          "node %s has no role ConsensusMember; give it to the node: polisctl node role add %s ConsensusMember",
          self, self);
    }
    requireOwnAddress(node, request.getPeerUrl());
    ConsensusCandidate candidate =
        new ConsensusCandidate(
            request.getPeerUrl(),
            request.getMemberId() == 0 ? "" : Long.toHexString(request.getMemberId()));
    // Outside the leadership, since etcd's own list decides: a hand-over need not wait for it.
    caller.onNext(wire(members.admit(self, candidate)));
    caller.onCompleted();
  }

  /** Refuses a URL of another node, whose members would then not be reached. */
  private static void requireOwnAddress(Node node, String peerUrl) {
    String reported = node.getStatus().getExternalAddress();
    if (!ReportedAddress.ofUrl(peerUrl).equals(reported)) {
      throw RpcException.unavailable(
          "node %s has reported the address \"%s\", and wants to serve etcd at \"%s\"; the node reports its new address first"
              .formatted(node.getId(), reported, peerUrl),
          RETRY);
    }
  }

  private static JoinConsensusResponse wire(ConsensusStanding standing) {
    JoinConsensusResponse.Builder response = JoinConsensusResponse.newBuilder();
    return switch (standing) {
      case ConsensusStanding.Invited(ConsensusInvitation invitation) ->
          response.setInvitation(wire(invitation)).build();
      case ConsensusStanding.Learner _ ->
          response.setLearner(JoinConsensusResponse.Learner.getDefaultInstance()).build();
      case ConsensusStanding.Voter _ ->
          response.setVoter(JoinConsensusResponse.Voter.getDefaultInstance()).build();
      case ConsensusStanding.Removed _ ->
          response.setRemoved(JoinConsensusResponse.Removed.getDefaultInstance()).build();
    };
  }

  private static JoinConsensusResponse.Invitation wire(ConsensusInvitation invitation) {
    return JoinConsensusResponse.Invitation.newBuilder()
        .setMemberId(Long.parseUnsignedLong(invitation.memberId(), 16))
        .setClusterId(Long.parseUnsignedLong(invitation.clusterId(), 16))
        .addAllOthers(invitation.others())
        .setCaCertificate(ByteString.copyFrom(Pem.der(invitation.ca())))
        .setCaKey(ByteString.copyFrom(invitation.caKey().getEncoded()))
        .build();
  }

  @Override
  public void leaveConsensus(
      LeaveConsensusRequest request, StreamObserver<LeaveConsensusResponse> caller) {
    NodeId self = RpcPeer.current().requireNode();
    Node node = ApiCalls.run(() -> gate.during(term -> member(term, self)));
    if (node.getRoles().hasConsensusMember()) {
      throw Refusal.precondition(
          "node %s has the role ConsensusMember; take it from the node: polisctl node role remove %s ConsensusMember",
          self, self);
    }
    members.expel(self);
    caller.onNext(LeaveConsensusResponse.getDefaultInstance());
    caller.onCompleted();
  }

  private static Node member(LeaderTerm term, NodeId id) throws InterruptedException {
    Node node = term.records().requireNode(id.text());
    if (!NodeRecords.isUp(node)) {
      throw Refusal.precondition(
          "node %s is %s; only a node that is UP may ask this", node.getId(), node.getFsmState());
    }
    return node;
  }
}
