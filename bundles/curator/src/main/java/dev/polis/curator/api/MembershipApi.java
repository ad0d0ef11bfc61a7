package dev.polis.curator.api;

import com.google.protobuf.ByteString;
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
import dev.polis.wire.cluster.MembershipGrpc;
import dev.polis.wire.cluster.RenewCertificateRequest;
import dev.polis.wire.cluster.RenewCertificateResponse;
import dev.polis.wire.cluster.TrustLists;
import dev.polis.wire.curator.stored.Node;
import io.grpc.stub.StreamObserver;
import java.security.PublicKey;
import java.time.Duration;

/** Serves the Membership API, for members that run no etcd: trust, certificate, unlock key. */
public final class MembershipApi extends MembershipGrpc.MembershipImplBase {

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final LeaderGate gate;
  private final TrustFeeds trust;

  public MembershipApi(LeaderGate gate, TrustFeeds trust) {
    this.gate = gate;
    this.trust = trust;
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

  private static Node member(LeaderTerm term, NodeId id) throws InterruptedException {
    Node node = term.records().requireNode(id.text());
    if (!NodeRecords.isUp(node)) {
      throw Refusal.precondition(
          "node %s is %s; only a node that is UP may ask this", node.getId(), node.getFsmState());
    }
    return node;
  }
}
