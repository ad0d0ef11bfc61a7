package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.curator.record.RecordKeys;
import dev.polis.curator.record.RecordStore;
import dev.polis.etcd.EtcdClient;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Crl;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.rpc.RpcRevocations;
import dev.polis.wire.api.ApproveNodeRequest;
import dev.polis.wire.api.DecommissionNodeRequest;
import dev.polis.wire.api.DeleteNodeRequest;
import dev.polis.wire.api.GetRegisterTicketRequest;
import dev.polis.wire.api.ManagementGrpc.ManagementBlockingV2Stub;
import dev.polis.wire.api.UpdateNodeRolesRequest;
import dev.polis.wire.cluster.CertificatesGrpc;
import dev.polis.wire.cluster.DescribeTicketRequest;
import dev.polis.wire.cluster.GetRevocationsRequest;
import dev.polis.wire.cluster.MembershipGrpc;
import dev.polis.wire.cluster.RegisterTicketsGrpc;
import dev.polis.wire.cluster.RegisterTicketsGrpc.RegisterTicketsBlockingV2Stub;
import dev.polis.wire.cluster.ReplaceTicketRequest;
import dev.polis.wire.cluster.RevokeCertificatesRequest;
import dev.polis.wire.cluster.RevokeTicketRequest;
import dev.polis.wire.common.NodeRoles;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.common.NodeStorageSecurity;
import dev.polis.wire.curator.CommitNodeRequest;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorGrpc.CuratorBlockingV2Stub;
import dev.polis.wire.curator.JoinNodeRequest;
import dev.polis.wire.curator.RegisterNodeRequest;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import dev.polis.wire.curator.stored.Node;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.AbstractStub;
import io.grpc.stub.BlockingClientCall;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Removes nodes from a cluster and withdraws its ticket, as an operator does. */
@Timeout(180)
class NodeRemovalTest {

  @RegisterExtension static final SharedEtcd ETCD = new SharedEtcd();

  private static final Duration PROPAGATION = Duration.ofSeconds(1);

  private static <S extends AbstractStub<S>> S soon(S stub) {
    return stub.withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  private static void decommission(ManagementBlockingV2Stub owner, String id) throws Exception {
    soon(owner).decommissionNode(DecommissionNodeRequest.newBuilder().setId(id).build());
  }

  private static DeleteNodeRequest.Builder deletion(String id) {
    return DeleteNodeRequest.newBuilder().setId(id);
  }

  private static DeleteNodeRequest lost(String id) {
    return deletion(id)
        .setSafetyBypassNotDecommissioned(
            DeleteNodeRequest.SafetyBypassNotDecommissioned.getDefaultInstance())
        .setSafetyBypassHasRoles(DeleteNodeRequest.SafetyBypassHasRoles.getDefaultInstance())
        .build();
  }

  private static void delete(ManagementBlockingV2Stub owner, DeleteNodeRequest request)
      throws Exception {
    soon(owner).deleteNode(request);
  }

  private static String refused(
      Status.Code code, CuratorFixture leader, DeleteNodeRequest request) {
    return CuratorFixture.refused(code, () -> delete(leader.management(), request));
  }

  private static RegisterNodeRequest registration(CuratorFixture leader, KeyPair join)
      throws Exception {
    ByteString ticket =
        soon(leader.management())
            .getRegisterTicket(GetRegisterTicketRequest.getDefaultInstance())
            .getTicket();
    return RegisterNodeRequest.newBuilder()
        .setRegisterTicket(ticket)
        .setJoinKey(ByteString.copyFrom(Ed25519.raw(join.getPublic())))
        .build();
  }

  private static void register(CuratorFixture leader, KeyPair key, KeyPair join) throws Exception {
    RegisterNodeRequest request = registration(leader, join);
    soon(CuratorGrpc.newBlockingV2Stub(leader.asKey(key))).registerNode(request);
  }

  private static void joinWith(CuratorFixture leader, KeyPair join) throws Exception {
    soon(CuratorGrpc.newBlockingV2Stub(leader.asKey(join)))
        .joinNode(JoinNodeRequest.getDefaultInstance());
  }

  private static void commitAs(CuratorFixture leader, KeyPair key) throws Exception {
    soon(CuratorGrpc.newBlockingV2Stub(leader.asKey(key)))
        .commitNode(
            CommitNodeRequest.newBuilder()
                .setClusterUnlockKey(ByteString.copyFromUtf8(CuratorFixture.UNLOCK_KEY))
                .setStorageSecurity(NodeStorageSecurity.NODE_STORAGE_SECURITY_ENCRYPTED)
                .build());
  }

  private static BlockingClientCall<?, WatchEvent> watch(CuratorBlockingV2Stub member) {
    return soon(member)
        .watch(
            WatchRequest.newBuilder()
                .setNodesInCluster(WatchRequest.NodesInCluster.getDefaultInstance())
                .build());
  }

  private static boolean refusesHeartbeat(CuratorBlockingV2Stub member) throws Exception {
    try {
      CuratorFixture.heartbeat(member);
      return false;
    } catch (StatusException refused) {
      return refused.getStatus().getCode() == Status.Code.UNAUTHENTICATED;
    }
  }

  @Test
  @DisplayName("a proof of a newer CA that proves nothing keeps no revocation back")
  void worthlessProof() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle();
        EtcdClient etcd = leader.records()) {
      member.followWithoutRecords(leader);
      X509Certificate foreign =
          CertificateAuthority.selfSigned(Ed25519.generate(), InstantSource.system());
      for (String worthless : List.of(Pem.encode("CERTIFICATE", Pem.der(foreign)), "no PEM")) {
        etcd.kv()
            .put(
                "/cluster-pki/cluster-ca-succession.pem",
                worthless.getBytes(StandardCharsets.US_ASCII));
      }
      decommission(leader.management(), member.id.text());
      awaitRevoked(leader, member);
    }
  }

  private static void awaitRevoked(CuratorFixture leader, CuratorFixture member) throws Exception {
    Await.value(
        leader.host().revocations(),
        now -> revokesItself(member, now),
        CuratorFixture.SOON,
        "the leader to know that the certificate is revoked");
  }

  private static boolean revokesItself(CuratorFixture member, RpcRevocations now) {
    return now instanceof RpcRevocations.Known(Crl list)
        && list.revokes(member.credentials().certificate());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "CUR-23 a decommissioned node is refused within a second, learns it, and its keys get nothing again")
  void cur23_decommissioned() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle();
        EtcdClient etcd = leader.records();
        RecordStore store = new RecordStore(etcd.kv())) {
      member.followWithoutRecords(leader);
      Await.value(
          member.curator.status(),
          CuratorStatus.Following.class::isInstance,
          CuratorFixture.SOON,
          "the member to follow the leader");
      String id = member.id.text();
      CuratorBlockingV2Stub asMember =
          CuratorGrpc.newBlockingV2Stub(leader.as(member.credentials().tls()));
      BlockingClientCall<?, WatchEvent> stream = watch(asMember);
      assertNotNull(stream.read(), "the backlog of the watch");
      joinWith(leader, member.joinKey);
      member.reportStatus(asMember, "127.0.0.1");
      assertTrue(store.requireNode(id).hasStatus());
      ManagementBlockingV2Stub owner = leader.management();

      MachineSpeed speed = MachineSpeed.measure();
      long begin = System.nanoTime();
      decommission(owner, id);

      StatusException ended =
          assertThrows(StatusException.class, () -> CuratorFixture.drain(stream));
      assertEquals(Status.Code.UNAUTHENTICATED, ended.getStatus().getCode());
      // A call may meet the end of the connection, which the revocation closes.
      Await.until(
          CuratorFixture.SOON,
          "the leader to refuse the decommissioned node",
          () -> refusesHeartbeat(asMember));
      speed.assertWithin(
          "the decommissioned node was refused",
          PROPAGATION,
          Duration.ofNanos(System.nanoTime() - begin));
      Node left = store.requireNode(id);
      assertEquals(NodeState.NODE_STATE_DECOMMISSIONED, left.getFsmState());
      assertTrue(left.getClusterUnlockKey().isEmpty(), "the half of the volume key is still there");
      assertFalse(left.hasStatus(), "other nodes would still call it");
      String notUp =
          CuratorFixture.refused(
              Status.Code.FAILED_PRECONDITION, () -> joinWith(leader, member.joinKey));
      assertTrue(notUp.contains("DECOMMISSIONED"), notUp);
      Await.value(
          member.host().revocations(),
          now -> revokesItself(member, now),
          CuratorFixture.SOON,
          "the member to learn that the cluster has revoked its certificate");

      decommission(owner, id);
      delete(owner, deletion(id).build());
      assertEquals(Optional.empty(), store.node(id));
      assertEquals(
          Optional.empty(),
          etcd.kv().get(RecordKeys.joinKey(Ed25519.raw(member.joinKey.getPublic()))));
      CuratorFixture.refused(Status.Code.NOT_FOUND, () -> joinWith(leader, member.joinKey));
      String again =
          CuratorFixture.refused(
              Status.Code.FAILED_PRECONDITION,
              () -> register(leader, member.nodeKey, Ed25519.generate()));
      assertTrue(again.contains(id + " was removed from this cluster"), again);
      refused(Status.Code.NOT_FOUND, leader, deletion(id).build());
    }
  }

  @Test
  @DisplayName("a curator that leaves its cluster calls no node, and serves no call")
  void leaves() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle()) {
      member.followWithoutRecords(leader);
      Await.value(
          member.curator.status(),
          CuratorStatus.Following.class::isInstance,
          CuratorFixture.SOON,
          "the member to follow the leader");

      member.curator.leave();

      assertEquals(new CuratorStatus.Idle(), member.curator.status().peek().orElseThrow());
      CuratorFixture.refused(
          Status.Code.UNAVAILABLE,
          () ->
              soon(MembershipGrpc.newBlockingV2Stub(member.asNobody()))
                  .getRevocations(GetRevocationsRequest.getDefaultInstance()));
      member.curator.leave();
      member.swap();
      assertEquals(new CuratorStatus.Idle(), member.present().status().peek().orElseThrow());
    }
  }

  @Test
  @DisplayName(
      "CUR-12 a member with roles, or not decommissioned, is deleted only with the bypass, and others stay")
  void cur12_rules() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle();
        EtcdClient etcd = leader.records();
        RecordStore store = new RecordStore(etcd.kv())) {
      member.followWithoutRecords(leader);
      String id = member.id.text();
      ManagementBlockingV2Stub owner = leader.management();
      String notYet = refused(Status.Code.FAILED_PRECONDITION, leader, deletion(id).build());
      assertTrue(notYet.contains("polisctl node decommission " + id), notYet);
      assertTrue(notYet.contains("--bypass-not-decommissioned"), notYet);
      soon(owner)
          .updateNodeRoles(
              UpdateNodeRolesRequest.newBuilder().setId(id).setKubernetesWorker(true).build());
      String roles =
          CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> decommission(owner, id));
      assertTrue(roles.contains("polisctl node role remove " + id + " KubernetesWorker"), roles);
      String bypass =
          refused(
              Status.Code.FAILED_PRECONDITION,
              leader,
              lost(id).toBuilder().clearSafetyBypassHasRoles().build());
      assertTrue(bypass.contains("--bypass-has-roles"), bypass);
      Node unchanged = store.requireNode(id);
      assertEquals(NodeState.NODE_STATE_UP, unchanged.getFsmState());
      Node others = store.requireNode(leader.id.text());

      delete(owner, lost(id));

      assertEquals(Optional.empty(), store.node(id));
      assertEquals(others, store.requireNode(leader.id.text()));
      awaitRevoked(leader, member);
    }
  }

  @Test
  @DisplayName("a node whose certificates are revoked is decommissioned, whatever roles it has")
  void revoked() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle();
        EtcdClient etcd = leader.records();
        RecordStore store = new RecordStore(etcd.kv())) {
      member.followWithoutRecords(leader);
      String id = member.id.text();
      ManagementBlockingV2Stub owner = leader.management();
      soon(owner)
          .updateNodeRoles(
              UpdateNodeRolesRequest.newBuilder().setId(id).setKubernetesWorker(true).build());

      soon(CertificatesGrpc.newBlockingV2Stub(leader.asOwner()))
          .revokeCertificates(
              RevokeCertificatesRequest.newBuilder().setNode(id).setForce(true).build());

      awaitRevoked(leader, member);
      Node left = store.requireNode(id);
      assertEquals(NodeState.NODE_STATE_DECOMMISSIONED, left.getFsmState());
      assertTrue(left.getClusterUnlockKey().isEmpty(), "the half of the volume key is still there");
      delete(owner, lost(id).toBuilder().clearSafetyBypassNotDecommissioned().build());
      assertEquals(Optional.empty(), store.node(id));
    }
  }

  @Test
  @DisplayName("the only node that keeps the records stays, whatever rules are bypassed")
  void theLastKeeper() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      String id = leader.id.text();
      String deleted = refused(Status.Code.FAILED_PRECONDITION, leader, lost(id));
      assertTrue(deleted.contains(id + " is the only ConsensusMember"), deleted);
      String decommissioned =
          CuratorFixture.refused(
              Status.Code.FAILED_PRECONDITION, () -> decommission(leader.management(), id));
      assertEquals(deleted, decommissioned);

      leader.store(
          NodeId.of(Ed25519.generate().getPublic()).text(),
          Node.newBuilder()
              .setFsmState(NodeState.NODE_STATE_UP)
              .setRoles(
                  NodeRoles.newBuilder()
                      .setConsensusMember(NodeRoles.ConsensusMember.getDefaultInstance())));
      String member = refused(Status.Code.FAILED_PRECONDITION, leader, lost(id));
      assertTrue(member.contains("polisctl node role remove " + id + " ConsensusMember"), member);
    }
  }

  @Test
  @DisplayName("the leader does not remove its own node")
  void theLeaderItself() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      String id = leader.id.text();
      leader.store(
          id,
          Node.newBuilder()
              .setPublicKey(ByteString.copyFrom(Ed25519.raw(leader.nodeKey.getPublic())))
              .setFsmState(NodeState.NODE_STATE_UP));
      String refusal = refused(Status.Code.FAILED_PRECONDITION, leader, lost(id));
      assertTrue(refusal.contains(id + " leads the cluster's curator"), refusal);
    }
  }

  @Test
  @DisplayName("a node that waits can be deleted, which frees its place, and registers again")
  void candidates() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        EtcdClient etcd = leader.records();
        RecordStore store = new RecordStore(etcd.kv())) {
      ManagementBlockingV2Stub owner = leader.management();
      KeyPair key = Ed25519.generate();
      KeyPair join = Ed25519.generate();
      String id = NodeId.of(key.getPublic()).text();
      register(leader, key, join);
      String notYet =
          CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> decommission(owner, id));
      assertTrue(notYet.contains("polisctl node delete " + id), notYet);

      delete(owner, deletion(id).build());

      assertEquals(Optional.empty(), store.node(id));
      String gone = CuratorFixture.refused(Status.Code.NOT_FOUND, () -> commitAs(leader, key));
      assertTrue(gone.contains(id + " is not registered"), gone);
      register(leader, key, join);
      soon(owner)
          .approveNode(
              ApproveNodeRequest.newBuilder()
                  .setPubkey(ByteString.copyFrom(Ed25519.raw(key.getPublic())))
                  .build());
      assertEquals(NodeState.NODE_STATE_STANDBY, store.requireNode(id).getFsmState());
      delete(owner, deletion(id).build());
      assertEquals(Optional.empty(), store.node(id));
      CuratorFixture.refused(Status.Code.NOT_FOUND, () -> commitAs(leader, key));
    }
  }

  @Test
  @DisplayName("a removal that a lost leader has begun ends with the next call")
  void repeated() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture member = CuratorFixture.idle();
        EtcdClient etcd = leader.records();
        RecordStore store = new RecordStore(etcd.kv())) {
      member.followWithoutRecords(leader);
      String id = member.id.text();
      leader.store(
          id,
          store.requireNode(id).toBuilder()
              .setFsmState(NodeState.NODE_STATE_DECOMMISSION_REQUESTED));
      CuratorFixture.refused(
          Status.Code.FAILED_PRECONDITION, () -> commitAs(leader, member.nodeKey));

      decommission(leader.management(), id);

      assertEquals(NodeState.NODE_STATE_DECOMMISSIONED, store.requireNode(id).getFsmState());
      awaitRevoked(leader, member);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("D-36 a ticket that leaked is replaced or revoked, and registers no node afterwards")
  void d36_tickets() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      RegisterTicketsBlockingV2Stub tickets =
          RegisterTicketsGrpc.newBlockingV2Stub(leader.asOwner());
      DescribeTicketRequest describe = DescribeTicketRequest.getDefaultInstance();
      assertFalse(soon(tickets).describeTicket(describe).hasValidUntil(), "none was made yet");
      List<RegisterNodeRequest> leaked = new ArrayList<>();
      leaked.add(registration(leader, Ed25519.generate()));
      long until = soon(tickets).describeTicket(describe).getValidUntil().getSeconds();
      assertTrue(Instant.ofEpochSecond(until).isAfter(Instant.now()), "until " + until);

      soon(tickets).replaceTicket(ReplaceTicketRequest.getDefaultInstance());

      refuseAll(leader, leaked);
      leaked.add(registration(leader, Ed25519.generate()));
      assertTrue(
          soon(tickets).revokeTicket(RevokeTicketRequest.getDefaultInstance()).getWasValid());
      refuseAll(leader, leaked);
      assertFalse(
          soon(tickets).revokeTicket(RevokeTicketRequest.getDefaultInstance()).getWasValid());
      assertFalse(soon(tickets).describeTicket(describe).hasValidUntil());
      register(leader, Ed25519.generate(), Ed25519.generate());

      CuratorFixture.refused(
          Status.Code.PERMISSION_DENIED,
          () ->
              soon(RegisterTicketsGrpc.newBlockingV2Stub(leader.asNode()))
                  .replaceTicket(ReplaceTicketRequest.getDefaultInstance()));
    }
  }

  private static void refuseAll(CuratorFixture leader, List<RegisterNodeRequest> leaked) {
    for (RegisterNodeRequest request : leaked) {
      String refusal =
          CuratorFixture.refused(
              Status.Code.PERMISSION_DENIED,
              () ->
                  soon(CuratorGrpc.newBlockingV2Stub(leader.asKey(Ed25519.generate())))
                      .registerNode(request));
      assertTrue(refusal.startsWith("registerticket invalid"), refusal);
    }
  }
}
