package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.curator.record.CuratorPki;
import dev.polis.curator.record.RecordKeys;
import dev.polis.etcd.EtcdClient;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.OwnerRotation;
import dev.polis.pki.TlsIdentity;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.GetRegisterTicketRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.NodeManagementGrpc;
import dev.polis.wire.api.RebootRequest;
import dev.polis.wire.api.UpdateNodeRolesRequest;
import dev.polis.wire.cluster.AddOperatorRequest;
import dev.polis.wire.cluster.AddTrustedKeyRequest;
import dev.polis.wire.cluster.CertificatesGrpc;
import dev.polis.wire.cluster.IssuedCertificate;
import dev.polis.wire.cluster.ListCertificatesRequest;
import dev.polis.wire.cluster.ListOperatorsRequest;
import dev.polis.wire.cluster.Operator;
import dev.polis.wire.cluster.OperatorList;
import dev.polis.wire.cluster.OperatorRole;
import dev.polis.wire.cluster.OperatorsGrpc;
import dev.polis.wire.cluster.OperatorsGrpc.OperatorsBlockingV2Stub;
import dev.polis.wire.cluster.OwnerKeysGrpc;
import dev.polis.wire.cluster.PluginTrustGrpc;
import dev.polis.wire.cluster.RemoveOperatorRequest;
import dev.polis.wire.cluster.RevokeCertificatesRequest;
import dev.polis.wire.cluster.RotateOwnerKeyRequest;
import dev.polis.wire.cluster.SetOperatorRoleRequest;
import dev.polis.wire.cluster.SetRecoveryKeyRequest;
import dev.polis.wire.curator.WatchEvent;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.security.KeyPair;
import java.time.Duration;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;

/** Adds, changes and removes operators of a cluster, and calls its listeners as they. */
@Timeout(120)
class OperatorsTest {

  @RegisterExtension static final SharedEtcd ETCD = new SharedEtcd();

  /** The time within which each listener must refuse a removed operator. */
  private static final Duration PROPAGATION = Duration.ofSeconds(1);

  private final KeyPair key = Ed25519.generate();

  private static OperatorsBlockingV2Stub operators(ManagedChannel channel) {
    return OperatorsGrpc.newBlockingV2Stub(channel)
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  private static AddOperatorRequest request(String name, KeyPair key, OperatorRole role) {
    return AddOperatorRequest.newBuilder()
        .setName(name)
        .setPublicKey(raw(key))
        .setRole(role)
        .build();
  }

  private static ByteString raw(KeyPair key) {
    return ByteString.copyFrom(Ed25519.raw(key.getPublic()));
  }

  /** Adds an operator, gets its certificate, and waits until the leader decides by its role. */
  private TlsIdentity added(CuratorFixture leader, String name, OperatorRole role)
      throws Exception {
    operators(leader.asOwner()).addOperator(request(name, key, role));
    return escrowed(leader, name, key);
  }

  private static TlsIdentity escrowed(CuratorFixture leader, String name, KeyPair key)
      throws Exception {
    TlsIdentity identity =
        TlsIdentity.of(key.getPrivate(), CuratorFixture.escrow(leader.asKey(key), name, key));
    ManagedChannel channel = leader.as(identity);
    awaitCode(Status.Code.OK, "the leader to know the operator " + name, () -> read(channel));
    return identity;
  }

  private static void awaitCode(Status.Code wanted, String what, Callable<Status.Code> call)
      throws Exception {
    Await.until(CuratorFixture.SOON, what, () -> call.call() == wanted);
  }

  private static void remove(CuratorFixture leader, String name) throws Exception {
    operators(leader.asOwner())
        .removeOperator(RemoveOperatorRequest.newBuilder().setName(name).build());
  }

  private static Status.Code read(ManagedChannel channel) throws Exception {
    return CuratorFixture.codeOf(
        () ->
            ManagementGrpc.newBlockingV2Stub(channel)
                .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
                .getClusterInfo(GetClusterInfoRequest.getDefaultInstance()));
  }

  private static Status.Code ticket(ManagedChannel channel) throws Exception {
    return CuratorFixture.codeOf(
        () ->
            ManagementGrpc.newBlockingV2Stub(channel)
                .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
                .getRegisterTicket(GetRegisterTicketRequest.getDefaultInstance()));
  }

  /** Asks for what this node's fake does not do: UNIMPLEMENTED shows that it accepts the caller. */
  private static Status.Code reboot(ManagedChannel channel) throws Exception {
    return CuratorFixture.codeOf(
        () ->
            NodeManagementGrpc.newBlockingV2Stub(channel)
                .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
                .reboot(RebootRequest.getDefaultInstance()));
  }

  private static List<Operator> list(ManagedChannel channel) throws Exception {
    return operators(channel)
        .listOperators(ListOperatorsRequest.getDefaultInstance())
        .getOperatorsList();
  }

  @Test
  @DisplayName("the record has an operator's name, key, role, time and giver, and the certificates")
  void record() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      TlsIdentity alice = added(leader, "alice", OperatorRole.OPERATOR_ROLE_VIEWER);

      List<Operator> all = list(leader.as(alice));

      assertEquals(1, all.size());
      assertEquals("alice", all.getFirst().getName());
      assertEquals(raw(key), all.getFirst().getPublicKey());
      assertEquals(OperatorRole.OPERATOR_ROLE_VIEWER, all.getFirst().getRole());
      assertEquals("user \"owner\"", all.getFirst().getBy());
      assertTrue(all.getFirst().getSince().getSeconds() > 0, "the time");
      assertEquals(List.of("alice"), holders(leader, IssuedCertificate.State.STATE_PRESENT));
      // Repeated after an interruption, it changes nothing.
      operators(leader.asOwner())
          .addOperator(request("alice", key, OperatorRole.OPERATOR_ROLE_VIEWER));
      assertEquals(all, list(leader.asOwner()));
    }
  }

  private static List<String> holders(CuratorFixture leader, IssuedCertificate.State state)
      throws Exception {
    return CertificatesGrpc.newBlockingV2Stub(leader.asOwner())
        .listCertificates(ListCertificatesRequest.getDefaultInstance())
        .getCertificatesList()
        .stream()
        .filter(each -> each.getKind() == IssuedCertificate.Kind.KIND_USER)
        .filter(each -> each.getState() == state)
        .map(IssuedCertificate::getHolder)
        .filter(holder -> !holder.equals("owner"))
        .toList();
  }

  @Test
  @Tag("attack")
  @DisplayName("D-37 a viewer reads, and changes neither the cluster nor a node")
  void viewerChangesNothing() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      TlsIdentity viewer = added(leader, "alice", OperatorRole.OPERATOR_ROLE_VIEWER);

      assertEquals(Status.Code.PERMISSION_DENIED, ticket(leader.as(viewer)));
      assertEquals(Status.Code.PERMISSION_DENIED, reboot(leader.nodeManagementAs(viewer)));
      assertEquals(Status.Code.UNIMPLEMENTED, reboot(leader.nodeManagementAs(owner(leader))));
    }
  }

  private static TlsIdentity owner(CuratorFixture leader) throws Exception {
    return TlsIdentity.of(
        leader.ownerKey.getPrivate(),
        CuratorFixture.escrow(leader.asKey(leader.ownerKey), "owner", leader.ownerKey));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "D-37 an operator makes neither itself nor another one the owner: no role, key, certificate or trust")
  void operatorGivesNoAccess() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      TlsIdentity bob = added(leader, "bob", OperatorRole.OPERATOR_ROLE_OPERATOR);
      ManagedChannel channel = leader.as(bob);
      KeyPair other = Ed25519.generate();
      assertEquals(Status.Code.OK, ticket(channel));

      Map<String, Executable> attempts = new LinkedHashMap<>();
      attempts.put(
          "add",
          () ->
              operators(channel)
                  .addOperator(request("eve", other, OperatorRole.OPERATOR_ROLE_OPERATOR)));
      attempts.put(
          "role",
          () ->
              operators(channel)
                  .setOperatorRole(
                      SetOperatorRoleRequest.newBuilder()
                          .setName("bob")
                          .setRole(OperatorRole.OPERATOR_ROLE_OPERATOR)
                          .build()));
      attempts.put(
          "remove",
          () ->
              operators(channel)
                  .removeOperator(RemoveOperatorRequest.newBuilder().setName("bob").build()));
      attempts.put(
          "rotate",
          () ->
              OwnerKeysGrpc.newBlockingV2Stub(channel)
                  .rotateOwnerKey(rotation(leader, key, other)));
      attempts.put(
          "recovery key",
          () ->
              OwnerKeysGrpc.newBlockingV2Stub(channel)
                  .setRecoveryKey(SetRecoveryKeyRequest.getDefaultInstance()));
      attempts.put(
          "trusted key",
          () ->
              PluginTrustGrpc.newBlockingV2Stub(channel)
                  .addTrustedKey(AddTrustedKeyRequest.getDefaultInstance()));
      attempts.put(
          "revoke",
          () ->
              CertificatesGrpc.newBlockingV2Stub(channel)
                  .revokeCertificates(
                      RevokeCertificatesRequest.newBuilder().setUser("owner").build()));
      for (Map.Entry<String, Executable> each : attempts.entrySet()) {
        String refusal = CuratorFixture.refused(Status.Code.PERMISSION_DENIED, each.getValue());
        assertTrue(
            refusal.contains("PERMISSION_MANAGE_ACCESS")
                && refusal.contains("user \"bob\" with the role operator")
                && refusal.contains("ask the owner"),
            () -> each.getKey() + ": " + refusal);
      }
      CuratorFixture.refused(
          Status.Code.PERMISSION_DENIED,
          () -> CuratorFixture.escrow(leader.asKey(key), "owner", key));
      assertEquals(1, list(leader.asOwner()).size());
      String node = leader.storeNode();
      String refusal =
          CuratorFixture.refused(
              Status.Code.PERMISSION_DENIED,
              () ->
                  ManagementGrpc.newBlockingV2Stub(channel)
                      .updateNodeRoles(
                          UpdateNodeRolesRequest.newBuilder()
                              .setId(node)
                              .setConsensusMember(true)
                              .build()));
      assertTrue(refusal.contains("gets all secrets"), refusal);
    }
  }

  private static RotateOwnerKeyRequest rotation(
      CuratorFixture leader, KeyPair present, KeyPair next) {
    OwnerRotation rotation =
        new OwnerRotation(leader.clusterCa().getPublicKey(), present.getPublic(), next.getPublic());
    return RotateOwnerKeyRequest.newBuilder()
        .setPresentPublicKey(raw(present))
        .setNewPublicKey(raw(next))
        .setPresentSignature(ByteString.copyFrom(rotation.sign(present.getPrivate())))
        .setNewSignature(ByteString.copyFrom(rotation.sign(next.getPrivate())))
        .build();
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a removed operator is refused within a second by leader, follower and node services, on open streams too")
  void removal() throws Exception {
    try (CuratorFixture leader = CuratorFixture.leading();
        CuratorFixture follower = CuratorFixture.idle()) {
      follower.follow(leader);
      TlsIdentity bob = added(leader, "bob", OperatorRole.OPERATOR_ROLE_OPERATOR);
      Map<String, Callable<Status.Code>> open = new LinkedHashMap<>();
      for (Map.Entry<String, CuratorFixture> each :
          Map.of("leader", leader, "follower", follower).entrySet()) {
        ManagedChannel management = each.getValue().nodeManagementAs(bob);
        open.put("the node service of the " + each.getKey(), () -> reboot(management));
      }
      ManagedChannel curator = leader.as(bob);
      open.put("the curator of the leader", () -> ticket(curator));
      for (Map.Entry<String, Callable<Status.Code>> each : open.entrySet()) {
        Await.until(
            CuratorFixture.SOON,
            each.getKey() + " to know the operator",
            () -> each.getValue().call() != Status.Code.UNAUTHENTICATED);
      }
      BlockingClientCall<?, WatchEvent> stream = CuratorFixture.watchNodes(leader.as(bob));
      assertNotNull(stream.read(), "the backlog of the watch");
      OperatorsBlockingV2Stub owner = operators(leader.asOwner());

      MachineSpeed speed = MachineSpeed.measure();
      long removed = System.nanoTime();
      assertEquals(
          1,
          owner
              .removeOperator(RemoveOperatorRequest.newBuilder().setName("bob").build())
              .getRevoked());

      for (Map.Entry<String, Callable<Status.Code>> each : open.entrySet()) {
        awaitCode(
            Status.Code.UNAUTHENTICATED,
            each.getKey() + " to refuse the removed operator",
            each.getValue());
      }
      StatusException ended =
          assertThrows(StatusException.class, () -> CuratorFixture.drain(stream));
      speed.assertWithin(
          "all of them refused the removed operator",
          PROPAGATION,
          Duration.ofNanos(System.nanoTime() - removed));
      assertEquals(Status.Code.UNAUTHENTICATED, ended.getStatus().getCode());
      assertEquals(Status.Code.UNAUTHENTICATED, read(leader.as(bob)), "a new connection");
      String refusal =
          CuratorFixture.refused(
              Status.Code.PERMISSION_DENIED,
              () -> CuratorFixture.escrow(leader.asKey(key), "bob", key));
      assertTrue(refusal.contains("polisctl operator add bob"), refusal);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "another role counts within a second, also on an open connection, at a member without etcd too")
  void role() throws Exception {
    try (CuratorFixture leader = CuratorFixture.leading();
        CuratorFixture member = CuratorFixture.idle()) {
      member.followWithoutRecords(leader);
      TlsIdentity bob = added(leader, "bob", OperatorRole.OPERATOR_ROLE_OPERATOR);
      ManagedChannel management = member.nodeManagementAs(bob);
      awaitCode(
          Status.Code.UNIMPLEMENTED, "the member to know the operator", () -> reboot(management));
      OperatorsBlockingV2Stub owner = operators(leader.asOwner());

      MachineSpeed speed = MachineSpeed.measure();
      long changed = System.nanoTime();
      owner.setOperatorRole(
          SetOperatorRoleRequest.newBuilder()
              .setName("bob")
              .setRole(OperatorRole.OPERATOR_ROLE_VIEWER)
              .build());

      awaitCode(
          Status.Code.PERMISSION_DENIED, "the member to know the role", () -> reboot(management));
      speed.assertWithin(
          "the role counted", PROPAGATION, Duration.ofNanos(System.nanoTime() - changed));
      assertEquals(Status.Code.PERMISSION_DENIED, ticket(leader.as(bob)));
      assertEquals(Status.Code.OK, read(leader.as(bob)));
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a thief with a removed operator's key gets nothing when another person gets the name")
  void sameNameAgain() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      TlsIdentity former = added(leader, "alice", OperatorRole.OPERATOR_ROLE_OPERATOR);
      remove(leader, "alice");
      KeyPair next = Ed25519.generate();
      operators(leader.asOwner())
          .addOperator(request("alice", next, OperatorRole.OPERATOR_ROLE_VIEWER));

      TlsIdentity present = escrowed(leader, "alice", next);

      assertEquals(Status.Code.UNAUTHENTICATED, read(leader.as(former)));
      CuratorFixture.refused(
          Status.Code.PERMISSION_DENIED,
          () -> CuratorFixture.escrow(leader.asKey(key), "alice", key));
      assertEquals(Status.Code.OK, read(leader.as(present)));
      assertEquals(List.of("alice"), holders(leader, IssuedCertificate.State.STATE_PRESENT));
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a certificate of another authority, or with an operator's name and another key, opens nothing")
  void forged() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        EtcdClient etcd = leader.records()) {
      added(leader, "alice", OperatorRole.OPERATOR_ROLE_OPERATOR);
      KeyPair thief = Ed25519.generate();
      TlsIdentity foreign =
          TlsIdentity.of(
              thief.getPrivate(),
              CertificateAuthority.create("Polis cluster CA")
                  .issueUser("alice", thief.getPublic()));
      // As if the authority had been misled: its signature alone gives no rights.
      TlsIdentity signed =
          TlsIdentity.of(
              thief.getPrivate(),
              new CuratorPki(etcd, etcd.kv(), InstantSource.system())
                  .authority()
                  .authority()
                  .issueUser("alice", thief.getPublic()));

      assertEquals(Status.Code.UNAUTHENTICATED, read(leader.as(foreign)));
      assertEquals(Status.Code.UNAUTHENTICATED, read(leader.as(signed)));
      CuratorFixture.refused(
          Status.Code.PERMISSION_DENIED,
          () -> CuratorFixture.escrow(leader.asKey(thief), "alice", thief));
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a name or a key that belongs to another one is refused, and changes nothing")
  void collisions() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      ManagedChannel owner = leader.asOwner();
      OperatorRole viewer = OperatorRole.OPERATOR_ROLE_VIEWER;
      operators(owner).addOperator(request("alice", key, viewer));
      KeyPair other = Ed25519.generate();

      String name =
          CuratorFixture.refused(
              Status.Code.FAILED_PRECONDITION,
              () -> operators(owner).addOperator(request("alice", other, viewer)));
      assertTrue(name.contains("the name alice belongs to an operator with the key"), name);
      String sameKey =
          CuratorFixture.refused(
              Status.Code.FAILED_PRECONDITION,
              () -> operators(owner).addOperator(request("bob", key, viewer)));
      assertTrue(sameKey.contains("belongs to the operator alice"), sameKey);
      String ownersKey =
          CuratorFixture.refused(
              Status.Code.FAILED_PRECONDITION,
              () -> operators(owner).addOperator(request("bob", leader.ownerKey, viewer)));
      assertTrue(ownersKey.contains("is the owner's"), ownersKey);
      String role =
          CuratorFixture.refused(
              Status.Code.FAILED_PRECONDITION,
              () ->
                  operators(owner)
                      .addOperator(request("alice", key, OperatorRole.OPERATOR_ROLE_OPERATOR)));
      assertTrue(role.contains("polisctl operator role alice operator"), role);
      String rotation =
          CuratorFixture.refused(
              Status.Code.FAILED_PRECONDITION,
              () ->
                  OwnerKeysGrpc.newBlockingV2Stub(owner)
                      .rotateOwnerKey(rotation(leader, leader.ownerKey, key)));
      assertTrue(rotation.contains("belongs to the operator alice"), rotation);
      assertEquals(1, list(owner).size());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a bad name, key or role is refused with the value and the remedy")
  void badArguments() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      ManagedChannel owner = leader.asOwner();
      OperatorRole viewer = OperatorRole.OPERATOR_ROLE_VIEWER;
      for (String name :
          List.of(
              "",
              "owner",
              "Owner",
              "node-1",
              "node-metropolis-00",
              "cluster-ca",
              "a/b",
              "a b",
              "1a",
              "-a",
              "ä",
              "a\u0000",
              "a\n",
              "a".repeat(33))) {
        String refusal =
            CuratorFixture.refused(
                Status.Code.INVALID_ARGUMENT,
                () -> operators(owner).addOperator(request(name, key, viewer)));
        assertTrue(refusal.contains("name"), refusal);
      }
      String role =
          CuratorFixture.refused(
              Status.Code.INVALID_ARGUMENT,
              () ->
                  operators(owner)
                      .addOperator(request("bob", key, OperatorRole.OPERATOR_ROLE_UNSPECIFIED)));
      assertTrue(role.contains("must be viewer or operator"), role);
      String bytes =
          CuratorFixture.refused(
              Status.Code.INVALID_ARGUMENT,
              () ->
                  operators(owner)
                      .addOperator(
                          request("bob", key, viewer).toBuilder()
                              .setPublicKey(ByteString.copyFromUtf8("short"))
                              .build()));
      assertTrue(bytes.contains("5 bytes"), bytes);
      String unknown =
          CuratorFixture.refused(
              Status.Code.NOT_FOUND,
              () ->
                  operators(owner)
                      .removeOperator(RemoveOperatorRequest.newBuilder().setName("bob").build()));
      assertTrue(unknown.contains("no operator has the name \"bob\""), unknown);
      for (String name : List.of("owner", "node-" + leader.id(), "cluster-ca")) {
        CuratorFixture.refused(
            Status.Code.NOT_FOUND,
            () ->
                operators(owner)
                    .removeOperator(RemoveOperatorRequest.newBuilder().setName(name).build()));
      }
      assertEquals(Status.Code.OK, read(owner));
      assertEquals(List.of(), list(owner));
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("the number of operators is bounded")
  void bounded() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      ManagedChannel owner = leader.asOwner();
      OperatorRole viewer = OperatorRole.OPERATOR_ROLE_VIEWER;
      for (int i = 1; i <= 64; i++) {
        operators(owner).addOperator(request("user" + i, Ed25519.generate(), viewer));
      }
      String refusal =
          CuratorFixture.refused(
              Status.Code.OUT_OF_RANGE,
              () -> operators(owner).addOperator(request("user65", key, viewer)));
      assertTrue(refusal.contains("64 operators"), refusal);
      remove(leader, "user1");
      operators(owner).addOperator(request("user65", key, viewer));
      assertEquals(64, list(owner).size());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a record from before a removal gives the role back, and no former certificate; the list shows it")
  void olderRecord() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      TlsIdentity former = added(leader, "alice", OperatorRole.OPERATOR_ROLE_VIEWER);
      byte[] before =
          OperatorList.newBuilder().addAllOperators(list(leader.asOwner())).build().toByteArray();
      remove(leader, "alice");

      leader.put(RecordKeys.OPERATORS, before);

      assertEquals(List.of("alice"), names(leader));
      assertEquals(Status.Code.UNAUTHENTICATED, read(leader.as(former)), "the revoked certificate");
      TlsIdentity again = escrowed(leader, "alice", key);
      assertNotEquals(former.certificate(), again.certificate());
      remove(leader, "alice");
      awaitCode(
          Status.Code.UNAUTHENTICATED,
          "the leader to refuse the operator again",
          () -> read(leader.as(again)));
    }
  }

  private static List<String> names(CuratorFixture leader) throws Exception {
    return list(leader.asOwner()).stream().map(Operator::getName).toList();
  }

  @Test
  @DisplayName("certificates left by an interrupted removal are revoked by its repetition")
  void interruptedRemoval() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      TlsIdentity alice = added(leader, "alice", OperatorRole.OPERATOR_ROLE_VIEWER);
      leader.put(RecordKeys.OPERATORS, OperatorList.getDefaultInstance().toByteArray());
      assertEquals(List.of("alice"), holders(leader, IssuedCertificate.State.STATE_PRESENT));

      remove(leader, "alice");

      assertEquals(List.of(), holders(leader, IssuedCertificate.State.STATE_PRESENT));
      Await.until(
          CuratorFixture.SOON,
          "the host to revoke the certificate",
          () ->
              leader
                  .host()
                  .revoked()
                  .filter(revoked -> revoked.revokes(alice.certificate()))
                  .isPresent());
    }
  }

  @Test
  @DisplayName("a revoked operator gets no certificate until the owner removes and adds it again")
  void revokedUser() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      added(leader, "alice", OperatorRole.OPERATOR_ROLE_VIEWER);
      var answer =
          CertificatesGrpc.newBlockingV2Stub(leader.asOwner())
              .revokeCertificates(
                  RevokeCertificatesRequest.newBuilder().setUser("alice").setForce(true).build());
      assertTrue(
          answer.getConsequences(0).contains("until the owner removes and adds it again"),
          answer::toString);

      String refusal =
          CuratorFixture.refused(
              Status.Code.FAILED_PRECONDITION,
              () -> CuratorFixture.escrow(leader.asKey(key), "alice", key));

      assertTrue(refusal.contains("polisctl operator remove"), refusal);
      remove(leader, "alice");
      assertFalse(names(leader).contains("alice"));
      added(leader, "alice", OperatorRole.OPERATOR_ROLE_VIEWER);
    }
  }
}
