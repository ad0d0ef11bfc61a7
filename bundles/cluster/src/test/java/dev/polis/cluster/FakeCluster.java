package dev.polis.cluster;

import com.google.protobuf.ByteString;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcPeer;
import dev.polis.rpc.RpcSettings;
import dev.polis.wire.cluster.AttestationGrpc;
import dev.polis.wire.cluster.GetAttestationChallengeRequest;
import dev.polis.wire.cluster.GetAttestationChallengeResponse;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.ClusterDirectory;
import dev.polis.wire.curator.CommitNodeRequest;
import dev.polis.wire.curator.CommitNodeResponse;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import dev.polis.wire.curator.GetCACertificateResponse;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import dev.polis.wire.curator.JoinNodeRequest;
import dev.polis.wire.curator.JoinNodeResponse;
import dev.polis.wire.curator.RegisterNodeRequest;
import dev.polis.wire.curator.RegisterNodeResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.KeyPair;
import java.security.PublicKey;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Stands for the leader of a cluster, and serves machines that become nodes over TLS on loopback.
 * The real curator has tests beside its own code.
 */
final class FakeCluster implements AutoCloseable {

  private static final int PORT = 7835;
  private static final AtomicInteger CLUSTERS = new AtomicInteger();

  final CertificateAuthority authority = CertificateAuthority.create("fake cluster");

  /** The requests by the id of the node. */
  final Map<String, RegisterNodeRequest> registered = new ConcurrentHashMap<>();

  final Map<String, CommitNodeRequest> committed = new ConcurrentHashMap<>();
  private final Map<String, ByteString> certificates = new ConcurrentHashMap<>();

  /** The refusals of the next calls, oldest first. */
  final Deque<Status.Code> refusals = new ConcurrentLinkedDeque<>();

  /** Counts the calls that were answered or refused. */
  final AtomicInteger calls = new AtomicInteger();

  volatile boolean approves = true;

  /** Whether this version of the leader asks for evidence of a TPM. */
  volatile boolean attests = true;

  private final AtomicInteger challenges = new AtomicInteger();

  /** The answer to the question of the CA, in place of {@link #ca}. */
  volatile Optional<ByteString> shown = Optional.empty();

  private final NodeCredentials leader;
  private final InetAddress address = ownAddress();
  private final LocalRpcHost host;

  FakeCluster(LogTree logs) {
    KeyPair key = Ed25519.generate();
    leader =
        new NodeCredentials(
            key.getPrivate(), authority.issueNode(key.getPublic()), authority.certificate());
    host =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    new RpcSettings.Listener(
                        RpcHost.CURATOR, new InetSocketAddress(address, PORT), true)),
                RpcSettings.Limits.DEFAULT),
            logs);
    host.serve(RpcHost.CURATOR, new Curator());
    host.serve(RpcHost.CURATOR, new Local());
    host.serve(RpcHost.CURATOR, new Attestation());
    host.identify(leader);
  }

  /** Returns a loopback address for this cluster alone, by process and number. */
  private static InetAddress ownAddress() {
    long process = ProcessHandle.current().pid();
    return InetAddress.ofLiteral(
        "127.%d.%d.%d"
            .formatted(
                130 + process / 250 % 40, process % 250, 1 + CLUSTERS.getAndIncrement() % 250));
  }

  InetSocketAddress curator() {
    return new InetSocketAddress(address, PORT);
  }

  NodeEndpoint endpoint() {
    return new NodeEndpoint(leader.id(), curator());
  }

  ByteString ca() {
    return ByteString.copyFrom(Pem.der(authority.certificate()));
  }

  ClusterDirectory directory() {
    return ClusterDirectory.newBuilder()
        .addNodes(
            ClusterDirectory.Node.newBuilder()
                .setId(leader.id().text())
                .addAddresses(
                    ClusterDirectory.Node.Address.newBuilder().setHost(address.getHostAddress())))
        .build();
  }

  private void refuseIfDue() {
    calls.incrementAndGet();
    Status.Code due = refusals.poll();
    if (due != null) {
      throw new RpcException(due, "refused by the test");
    }
  }

  private static String caller() {
    return NodeId.of(RpcPeer.current().requireKey()).text();
  }

  private static <T> void answer(StreamObserver<T> caller, T answer) {
    caller.onNext(answer);
    caller.onCompleted();
  }

  private final class Local extends CuratorLocalGrpc.CuratorLocalImplBase {
    @Override
    public void getCACertificate(
        GetCACertificateRequest request, StreamObserver<GetCACertificateResponse> caller) {
      answer(
          caller,
          GetCACertificateResponse.newBuilder()
              .setIdentityCaCertificate(shown.orElseGet(FakeCluster.this::ca))
              .build());
    }

    @Override
    public void getCurrentLeader(
        GetCurrentLeaderRequest request, StreamObserver<GetCurrentLeaderResponse> caller) {
      answer(
          caller,
          GetCurrentLeaderResponse.newBuilder()
              .setLeaderNodeId(leader.id().text())
              .setThisNodeId(leader.id().text())
              .setLeaderHost(address.getHostAddress())
              .setLeaderPort(PORT)
              .build());
    }
  }

  /** Counts the challenges in their nonces. */
  private final class Attestation extends AttestationGrpc.AttestationImplBase {
    @Override
    public void getAttestationChallenge(
        GetAttestationChallengeRequest request,
        StreamObserver<GetAttestationChallengeResponse> caller) {
      if (!attests) {
        throw new RpcException(Status.Code.UNIMPLEMENTED, "an older version");
      }
      answer(
          caller,
          GetAttestationChallengeResponse.newBuilder()
              .setNonce(ByteString.copyFromUtf8("challenge " + challenges.incrementAndGet()))
              .build());
    }
  }

  private final class Curator extends CuratorGrpc.CuratorImplBase {
    @Override
    public void registerNode(
        RegisterNodeRequest request, StreamObserver<RegisterNodeResponse> caller) {
      refuseIfDue();
      RegisterNodeRequest before = registered.putIfAbsent(caller(), request);
      if (before != null && !before.equals(request)) {
        throw new RpcException(Status.Code.FAILED_PRECONDITION, "registered with another key");
      }
      answer(
          caller,
          RegisterNodeResponse.newBuilder()
              .setClusterConfiguration(
                  ClusterConfiguration.newBuilder()
                      .setStorageSecurityPolicy(
                          ClusterConfiguration.StorageSecurityPolicy
                              .STORAGE_SECURITY_POLICY_NEEDS_ENCRYPTION))
              .build());
    }

    @Override
    public void commitNode(CommitNodeRequest request, StreamObserver<CommitNodeResponse> caller) {
      refuseIfDue();
      if (!approves) {
        throw RpcException.permissionDenied("waits for approval");
      }
      String id = caller();
      CommitNodeRequest before = committed.putIfAbsent(id, request);
      if (before != null && !before.equals(request)) {
        throw new RpcException(Status.Code.FAILED_PRECONDITION, "committed with another key");
      }
      ByteString certificate =
          certificates.computeIfAbsent(
              id,
              each ->
                  ByteString.copyFrom(
                      Pem.der(authority.issueNode(RpcPeer.current().requireKey()))));
      answer(
          caller,
          CommitNodeResponse.newBuilder()
              .setCaCertificate(ca())
              .setNodeCertificate(certificate)
              .build());
    }

    private ByteString renewed(String id) {
      PublicKey own = Pem.certificate(certificates.get(id).toByteArray()).getPublicKey();
      return ByteString.copyFrom(Pem.der(authority.issueNode(own)));
    }

    @Override
    public void joinNode(JoinNodeRequest request, StreamObserver<JoinNodeResponse> caller) {
      refuseIfDue();
      ByteString join = ByteString.copyFrom(Ed25519.raw(RpcPeer.current().requireKey()));
      String id =
          registered.entrySet().stream()
              .filter(each -> each.getValue().getJoinKey().equals(join))
              .map(Map.Entry::getKey)
              .findFirst()
              .orElseThrow(() -> new RpcException(Status.Code.NOT_FOUND, "no such join key"));
      answer(
          caller,
          JoinNodeResponse.newBuilder()
              .setClusterUnlockKey(committed.get(id).getClusterUnlockKey())
              .setNodeCertificate(renewed(id))
              .build());
    }
  }

  @Override
  public void close() {
    host.close();
  }
}
