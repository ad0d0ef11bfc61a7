package dev.polis.roles;

import com.google.protobuf.Timestamp;
import dev.polis.base.values.MutableValue;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcSettings;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.wire.common.NodeRoles;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import dev.polis.wire.curator.HeartbeatUpdateRequest;
import dev.polis.wire.curator.HeartbeatUpdateResponse;
import dev.polis.wire.curator.Node;
import dev.polis.wire.curator.UpdateNodeStatusRequest;
import dev.polis.wire.curator.UpdateNodeStatusResponse;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.KeyPair;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** Stands for a curator over TLS: records a node's reports and sends the roles that a test sets. */
final class RecordingCurator implements AutoCloseable {

  final LogTree logs = LogTree.create();
  final NodeCredentials credentials;
  final List<NodeStatus> reported = new CopyOnWriteArrayList<>();
  final AtomicInteger beats = new AtomicInteger();
  final Set<String> processes = ConcurrentHashMap.newKeySet();
  final AtomicReference<String> other = new AtomicReference<>("");
  final AtomicInteger refusals = new AtomicInteger();
  final MutableValue<NodeRoles> roles = new MutableValue<>(NodeRoles.getDefaultInstance());
  private final LocalRpcHost host;
  private final InetSocketAddress address;

  RecordingCurator() {
    CertificateAuthority authority = CertificateAuthority.create("test cluster");
    KeyPair pair = Ed25519.generate();
    credentials =
        new NodeCredentials(
            pair.getPrivate(), authority.issueNode(pair.getPublic()), authority.certificate());
    host =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    new RpcSettings.Listener(
                        RpcHost.CURATOR,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        true)),
                RpcSettings.Limits.DEFAULT),
            logs);
    host.identify(credentials);
    address = host.address(RpcHost.CURATOR);
    host.serve(RpcHost.CURATOR, new Records());
    host.serve(RpcHost.CURATOR, new Discovery());
  }

  InetSocketAddress address() {
    return address;
  }

  LeaderConnection connect() {
    return new LeaderConnection(() -> credentials, address(), logs.log("test"));
  }

  private final class Records extends CuratorGrpc.CuratorImplBase {
    @Override
    public void updateNodeStatus(
        UpdateNodeStatusRequest request, StreamObserver<UpdateNodeStatusResponse> caller) {
      if (refusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
        caller.onError(
            Status.UNAVAILABLE.withDescription("this test refuses once").asRuntimeException());
        return;
      }
      reported.add(request.getStatus());
      caller.onNext(UpdateNodeStatusResponse.getDefaultInstance());
      caller.onCompleted();
    }

    @Override
    public StreamObserver<HeartbeatUpdateRequest> heartbeat(
        StreamObserver<HeartbeatUpdateResponse> caller) {
      return new StreamObserver<>() {
        @Override
        public void onNext(HeartbeatUpdateRequest beat) {
          beats.incrementAndGet();
          processes.add(beat.getProcess());
          caller.onNext(
              HeartbeatUpdateResponse.newBuilder()
                  .setLeaderClock(Timestamp.newBuilder().setSeconds(Instant.now().getEpochSecond()))
                  .setOtherAddress(other.get())
                  .build());
        }

        @Override
        public void onError(Throwable gone) {
          // The node disconnected, as at the end of each of these tests.
        }

        @Override
        public void onCompleted() {
          caller.onCompleted();
        }
      };
    }

    @Override
    public void watch(WatchRequest request, StreamObserver<WatchEvent> caller) {
      try (var watcher = roles.watch()) {
        while (true) {
          caller.onNext(
              WatchEvent.newBuilder()
                  .addNodes(
                      Node.newBuilder().setId(credentials.id().text()).setRoles(watcher.get()))
                  .build());
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private final class Discovery extends CuratorLocalGrpc.CuratorLocalImplBase {
    @Override
    public void getCurrentLeader(
        GetCurrentLeaderRequest request, StreamObserver<GetCurrentLeaderResponse> caller) {
      caller.onNext(
          GetCurrentLeaderResponse.newBuilder()
              .setLeaderNodeId(credentials.id().text())
              .setThisNodeId(credentials.id().text())
              .setLeaderHost(address().getAddress().getHostAddress())
              .setLeaderPort(address().getPort())
              .build());
      try {
        new java.util.concurrent.CountDownLatch(1).await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public void close() {
    host.close();
  }
}
