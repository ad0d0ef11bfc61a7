package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.polis.curator.api.AaaApi;
import dev.polis.curator.record.CuratorPki;
import dev.polis.etcd.EtcdClient;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.TlsIdentity;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.ManagementGrpc.ManagementBlockingV2Stub;
import dev.polis.wire.api.NodeManagementGrpc;
import dev.polis.wire.api.RebootRequest;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.security.KeyPair;
import java.time.Duration;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Revokes certificates in etcd and calls the listeners of nodes with them. */
@Timeout(120)
class RevocationTest {

  /** The time within which each listener must refuse a revoked certificate. */
  private static final Duration PROPAGATION = Duration.ofSeconds(1);

  private static CuratorPki pki(EtcdClient etcd) {
    return new CuratorPki(etcd, etcd.kv(), InstantSource.system());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "CUR-23 a revoked node is refused within a second by leader, follower and node services")
  void cur23_revokedNode() throws Exception {
    try (CuratorFixture leader = CuratorFixture.leading();
        CuratorFixture follower = CuratorFixture.idle();
        EtcdClient etcd = leader.records()) {
      follower.follow(leader);
      KeyPair key = Ed25519.generate();
      NodeId id = NodeId.of(key.getPublic());
      TlsIdentity node =
          TlsIdentity.of(key.getPrivate(), pki(etcd).ensureNode(id, key.getPublic()));
      Map<String, Callable<Status.Code>> open = new LinkedHashMap<>();
      Map<String, Callable<Status.Code>> fresh = new LinkedHashMap<>();
      Map.of("leader", leader, "follower", follower)
          .forEach(
              (name, fixture) -> {
                ManagedChannel curator = fixture.as(node);
                ManagedChannel management = fixture.nodeManagementAs(node);
                open.put("the curator of the " + name, () -> askCurator(curator));
                open.put("the node service of the " + name, () -> askNodeService(management));
                fresh.put("the curator of the " + name, () -> askCurator(fixture.as(node)));
                fresh.put(
                    "the node service of the " + name,
                    () -> askNodeService(fixture.nodeManagementAs(node)));
              });
      for (Map.Entry<String, Callable<Status.Code>> each : open.entrySet()) {
        assertNotEquals(Status.Code.UNAUTHENTICATED, each.getValue().call(), each.getKey());
      }
      BlockingClientCall<?, WatchEvent> stream = CuratorFixture.watchNodes(leader.as(node));
      assertNotNull(stream.read(), "the backlog of the watch");

      MachineSpeed speed = MachineSpeed.measure();
      pki(etcd).authority().revoke("node-" + id);
      long revoked = System.nanoTime();

      for (Map.Entry<String, Callable<Status.Code>> each : open.entrySet()) {
        Await.until(
            CuratorFixture.SOON,
            each.getKey() + " to refuse the revoked node",
            () -> each.getValue().call() == Status.Code.UNAUTHENTICATED);
      }
      StatusException ended =
          assertThrows(StatusException.class, () -> CuratorFixture.drain(stream));
      Duration took = Duration.ofNanos(System.nanoTime() - revoked);
      speed.assertWithin("all of them refused the revoked node", PROPAGATION, took);
      assertEquals(Status.Code.UNAUTHENTICATED, ended.getStatus().getCode());
      for (Map.Entry<String, Callable<Status.Code>> each : fresh.entrySet()) {
        assertEquals(
            Status.Code.UNAUTHENTICATED,
            each.getValue().call(),
            each.getKey() + ", on a new connection");
      }
      assertEquals(Status.Code.INVALID_ARGUMENT, askCurator(leader.asNode()), "another node");
    }
  }

  /** Sends a call that leaders and followers refuse as invalid if they trust the caller. */
  private static Status.Code askCurator(ManagedChannel channel) throws Exception {
    return CuratorFixture.codeOf(
        () ->
            CuratorGrpc.newBlockingV2Stub(channel)
                .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
                .watch(WatchRequest.getDefaultInstance())
                .read());
  }

  private static Status.Code askNodeService(ManagedChannel channel) throws Exception {
    return CuratorFixture.codeOf(
        () ->
            NodeManagementGrpc.newBlockingV2Stub(channel)
                .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
                .reboot(RebootRequest.getDefaultInstance()));
  }

  @Test
  @Tag("attack")
  @DisplayName("D-18 a revoked user is refused within a second, also on an open connection")
  void d18_revokedUser() throws Exception {
    try (CuratorFixture fixture = CuratorFixture.leading();
        EtcdClient etcd = fixture.records()) {
      ManagementBlockingV2Stub owner = fixture.management();
      assertEquals(Status.Code.OK, askManagement(owner));
      MachineSpeed speed = MachineSpeed.measure();
      pki(etcd).authority().revoke(AaaApi.OWNER);
      long revoked = System.nanoTime();
      Await.until(
          CuratorFixture.SOON,
          "the revoked owner to be refused",
          () -> askManagement(owner) == Status.Code.UNAUTHENTICATED);
      Duration took = Duration.ofNanos(System.nanoTime() - revoked);
      speed.assertWithin("the revoked owner was refused", PROPAGATION, took);
    }
  }

  private static Status.Code askManagement(ManagementBlockingV2Stub owner) throws Exception {
    return CuratorFixture.codeOf(
        () ->
            owner
                .withDeadlineAfter(2, TimeUnit.SECONDS)
                .getClusterInfo(GetClusterInfoRequest.getDefaultInstance()));
  }
}
