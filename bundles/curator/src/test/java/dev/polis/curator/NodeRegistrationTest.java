package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.curator.TicketTerm;
import dev.polis.curator.record.CuratorPki;
import dev.polis.curator.record.NodeRecords;
import dev.polis.curator.record.RecordKeys;
import dev.polis.curator.record.RecordStore;
import dev.polis.etcd.EtcdClient;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.TestThreads;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.rpc.RpcException;
import dev.polis.wire.api.ApproveNodeRequest;
import dev.polis.wire.api.GetRegisterTicketRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.ManagementGrpc.ManagementBlockingV2Stub;
import dev.polis.wire.cluster.DescribeTicketRequest;
import dev.polis.wire.cluster.DescribeTicketResponse;
import dev.polis.wire.cluster.RegisterTicketsGrpc;
import dev.polis.wire.cluster.ReplaceTicketRequest;
import dev.polis.wire.cluster.RevokeTicketRequest;
import dev.polis.wire.common.ClusterConfiguration.StorageSecurityPolicy;
import dev.polis.wire.common.ClusterConfiguration.TPMMode;
import dev.polis.wire.common.NodeLabels;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.common.NodeStorageSecurity;
import dev.polis.wire.common.NodeTPMUsage;
import dev.polis.wire.curator.CommitNodeRequest;
import dev.polis.wire.curator.CommitNodeResponse;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorGrpc.CuratorBlockingV2Stub;
import dev.polis.wire.curator.JoinNodeRequest;
import dev.polis.wire.curator.JoinNodeResponse;
import dev.polis.wire.curator.RegisterNodeRequest;
import dev.polis.wire.curator.RegisterNodeResponse;
import dev.polis.wire.curator.stored.Node;
import dev.polis.wire.curator.stored.RegisterTicket;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.AbstractStub;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.cert.CertificateExpiredException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Lets a node join as an operator does, with the ticket and the approval. */
@Timeout(120)
class NodeRegistrationTest {

  @RegisterExtension static final SharedEtcd ETCD = new SharedEtcd();

  private static final ByteString UNLOCK_KEY =
      ByteString.copyFromUtf8("fedcba9876543210FEDCBA9876543210");

  private static ByteString ticket(ManagementBlockingV2Stub owner) throws Exception {
    return owner
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
        .getRegisterTicket(GetRegisterTicketRequest.getDefaultInstance())
        .getTicket();
  }

  @Test
  @DisplayName("CUR-05 the register ticket is the same for all callers and under the next leader")
  void cur05_ticket() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture successor = CuratorFixture.idle()) {
      successor.follow(leader);
      Set<ByteString> tickets = firstTickets(leader.management(), 16);
      assertEquals(1, tickets.size(), tickets.toString());
      ByteString first = tickets.iterator().next();
      assertEquals(32, first.size());
      assertEquals(first, ticket(leader.management()));

      leader.resign();
      Await.value(
          successor.curator.status(),
          CuratorStatus.Leading.class::isInstance,
          CuratorFixture.SOON,
          "the successor to lead");
      assertEquals(
          first, ticket(ManagementGrpc.newBlockingV2Stub(successor.asOwner(leader.ownerKey))));
    }
  }

  private static Set<ByteString> firstTickets(ManagementBlockingV2Stub owner, int calls)
      throws Exception {
    List<Future<ByteString>> pending = new ArrayList<>();
    Set<ByteString> tickets = new HashSet<>();
    try (ExecutorService callers = new TestThreads()) {
      for (int i = 0; i < calls; i++) {
        pending.add(callers.submit(() -> ticket(owner)));
      }
      for (Future<ByteString> each : pending) {
        tickets.add(each.get());
      }
    }
    return tickets;
  }

  @Test
  @DisplayName("CUR-05 approval makes a NEW node STANDBY, and is repeatable")
  void cur05_approve() throws Exception {
    try (CuratorFixture fixture = ETCD.leading();
        EtcdClient records = fixture.records();
        RecordStore store = new RecordStore(records.kv())) {
      ManagementBlockingV2Stub owner = fixture.management();
      KeyPair key = Ed25519.generate();
      String id = NodeId.of(key.getPublic()).text();
      refusedApproval(owner, key, Status.Code.NOT_FOUND);
      Node.Builder record =
          Node.newBuilder().setPublicKey(raw(key)).setFsmState(NodeState.NODE_STATE_NEW);
      fixture.store(id, record);

      approve(owner, key);
      Node approved = store.requireNode(id);
      assertEquals(record.setId(id).setFsmState(NodeState.NODE_STATE_STANDBY).build(), approved);
      approve(owner, key);
      assertEquals(approved, store.requireNode(id), "a repeated approval");

      Node up = store.requireNode(fixture.id.text());
      approve(owner, fixture.nodeKey);
      assertEquals(up, store.requireNode(fixture.id.text()), "the approval of an UP node");

      fixture.store(id, record.clone().setFsmState(NodeState.NODE_STATE_DECOMMISSIONED));
      refusedApproval(owner, key, Status.Code.FAILED_PRECONDITION);
      assertEquals(NodeState.NODE_STATE_DECOMMISSIONED, store.requireNode(id).getFsmState());
    }
  }

  private static ByteString raw(KeyPair key) {
    return ByteString.copyFrom(Ed25519.raw(key.getPublic()));
  }

  private static void approve(ManagementBlockingV2Stub owner, KeyPair key) throws Exception {
    owner
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
        .approveNode(ApproveNodeRequest.newBuilder().setPubkey(raw(key)).build());
  }

  private static void refusedApproval(
      ManagementBlockingV2Stub owner, KeyPair key, Status.Code code) {
    CuratorFixture.refused(code, () -> approve(owner, key));
  }

  @Test
  @Tag("attack")
  @DisplayName("D-36 a ticket that has ended is replaced, and registers no node")
  void d36_expiredTicket() throws Exception {
    try (CuratorFixture fixture = ETCD.leading()) {
      ByteString opaque = ticketUntil(Instant.now().minus(Duration.ofMinutes(1)));
      fixture.put(
          "/global/register_ticket",
          RegisterTicket.newBuilder().setOpaque(opaque).build().toByteArray());
      Machine machine = new Machine(fixture);

      String refusal =
          CuratorFixture.refused(
              Status.Code.PERMISSION_DENIED, () -> machine.register(machine.request(opaque)));
      assertTrue(refusal.contains("it has ended"), refusal);

      ByteString next = ticket(fixture.management());
      assertNotEquals(opaque, next);
      Instant end = TicketTerm.end(next.toByteArray());
      assertTrue(end.isAfter(Instant.now()), end.toString());
      machine.register(machine.request(next));
    }
  }

  private static ByteString ticketUntil(Instant end) {
    return ByteString.copyFrom(TicketTerm.of(new byte[TicketTerm.BYTES], end));
  }

  @Test
  @Tag("attack")
  @DisplayName("a wrong ticket, no ticket and a join key of a wrong length are refused")
  void refusedRegistrations() throws Exception {
    try (CuratorFixture fixture = ETCD.leading();
        EtcdClient records = fixture.records();
        RecordStore store = new RecordStore(records.kv())) {
      Machine machine = new Machine(fixture);
      RegisterNodeRequest beforeAnyTicket = machine.request(ByteString.EMPTY);
      CuratorFixture.refused(
          Status.Code.PERMISSION_DENIED, () -> machine.register(beforeAnyTicket));
      ByteString ticket = ticket(fixture.management());
      List<Node> before = store.nodes();
      for (ByteString wrong : List.of(ByteString.EMPTY, ticket.substring(1), other(ticket))) {
        String refusal =
            CuratorFixture.refused(
                Status.Code.PERMISSION_DENIED, () -> machine.register(machine.request(wrong)));
        assertTrue(refusal.startsWith("registerticket invalid"), refusal);
      }
      String length =
          CuratorFixture.refused(
              Status.Code.INVALID_ARGUMENT,
              () ->
                  machine.register(
                      machine.request(ticket).toBuilder()
                          .setJoinKey(raw(machine.join).substring(1))
                          .build()));
      assertTrue(length.contains("join_key has 31 bytes"), length);
      CuratorFixture.refused(
          Status.Code.UNAUTHENTICATED,
          () ->
              soon(CuratorGrpc.newBlockingV2Stub(fixture.asNobody()))
                  .registerNode(machine.request(ticket)));
      assertEquals(before, store.nodes());
    }
  }

  private static ByteString other(ByteString ticket) {
    byte[] bytes = ticket.toByteArray();
    bytes[31] ^= 1;
    return ByteString.copyFrom(bytes);
  }

  @Test
  @DisplayName("CUR-05 a machine registers as NEW, is approved, and commits to be UP")
  void cur05_enrolment() throws Exception {
    try (CuratorFixture fixture = ETCD.leading();
        EtcdClient records = fixture.records();
        RecordStore store = new RecordStore(records.kv())) {
      ManagementBlockingV2Stub owner = fixture.management();
      Machine machine = new Machine(fixture);

      RegisterNodeResponse settings = machine.register(machine.request(ticket(owner)));

      assertEquals("cluster.internal", settings.getClusterConfiguration().getClusterDomain());
      assertEquals(NodeTPMUsage.NODE_TPM_USAGE_NOT_PRESENT, settings.getTpmUsage());
      assertEquals(
          NodeStorageSecurity.NODE_STORAGE_SECURITY_AUTHENTICATED_ENCRYPTED,
          settings.getRecommendedNodeStorageSecurity());
      assertEquals(NodeState.NODE_STATE_NEW, store.requireNode(machine.id).getFsmState());
      assertEquals(
          Map.of("rack", "7"),
          NodeRecords.labels(store.requireNode(machine.id)),
          "malformed labels are left out");
      assertEquals(
          machine.id,
          new String(
              records
                  .kv()
                  .get(RecordKeys.joinKey(Ed25519.raw(machine.join.getPublic())))
                  .get()
                  .value(),
              StandardCharsets.UTF_8));
      String waits =
          CuratorFixture.refused(Status.Code.PERMISSION_DENIED, () -> machine.commit(UNLOCK_KEY));
      assertTrue(waits.contains("polisctl node approve " + machine.id), waits);

      approve(owner, machine.key);
      CommitNodeResponse committed = machine.commit(UNLOCK_KEY);

      X509Certificate ca = Pem.certificate(committed.getCaCertificate().toByteArray());
      X509Certificate certificate = Pem.certificate(committed.getNodeCertificate().toByteArray());
      NodeCredentials credentials = new NodeCredentials(machine.key.getPrivate(), certificate, ca);
      assertEquals(fixture.clusterCa(), ca);
      assertEquals(machine.id, credentials.id().text());
      Node up = store.requireNode(machine.id);
      assertEquals(NodeState.NODE_STATE_UP, up.getFsmState());
      assertEquals(UNLOCK_KEY, up.getClusterUnlockKey());
      assertEquals(NodeStorageSecurity.NODE_STORAGE_SECURITY_ENCRYPTED, up.getStorageSecurity());
      CuratorFixture.heartbeat(CuratorGrpc.newBlockingV2Stub(fixture.as(credentials.tls())));
    }
  }

  @Test
  @DisplayName("a member whose certificate ended gets a new one by its join key, for its own key")
  void endedCertificate() throws Exception {
    try (CuratorFixture fixture = ETCD.leading();
        EtcdClient records = fixture.records()) {
      Machine machine = new Machine(fixture);
      machine.register(machine.request(ticket(fixture.management())));
      approve(fixture.management(), machine.key);
      ByteString committed = machine.commit(UNLOCK_KEY).getNodeCertificate();
      assertEquals(
          committed, machine.joined(false).getNodeCertificate(), "the present one is good");
      InstantSource past =
          () -> Instant.now().minus(CertificateTemplate.NODE_LIFETIME).minusSeconds(1);
      CuratorPki pki = new CuratorPki(records, records.kv(), past);
      pki.authority().remove("node-" + machine.id);
      NodeId id = NodeId.parse(machine.id);
      X509Certificate ended = pki.ensureNode(id, machine.key.getPublic());
      assertThrows(CertificateExpiredException.class, ended::checkValidity);

      X509Certificate newer =
          Pem.certificate(machine.joined(false).getNodeCertificate().toByteArray());

      newer.checkValidity();
      assertEquals(machine.key.getPublic(), newer.getPublicKey());
      pki.revokeNode(id);
      String refused =
          CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> machine.joined(false));
      assertTrue(refused.contains("is revoked"), refused);
    }
  }

  @Test
  @DisplayName("CUR-06 a member gets its half of the volume key back by its join key alone")
  void cur06_join() throws Exception {
    try (CuratorFixture fixture = ETCD.leading()) {
      Machine machine = new Machine(fixture);
      machine.register(machine.request(ticket(fixture.management())));
      CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> machine.join(false));
      approve(fixture.management(), machine.key);
      machine.commit(UNLOCK_KEY);

      assertEquals(UNLOCK_KEY, machine.join(false));
      assertEquals(UNLOCK_KEY, machine.join(false), "a repeated join");

      CuratorFixture.refused(
          Status.Code.NOT_FOUND,
          () ->
              soon(CuratorGrpc.newBlockingV2Stub(fixture.asKey(machine.key)))
                  .joinNode(JoinNodeRequest.getDefaultInstance()));
    }
  }

  @Test
  @DisplayName("CUR-16 the use of the TPM follows the cluster's mode, and a join must fit to it")
  void cur16_tpm() throws Exception {
    record Row(TPMMode mode, boolean present, Optional<NodeTPMUsage> usage) {}
    List<Row> rows =
        List.of(
            new Row(TPMMode.TPM_MODE_REQUIRED, false, Optional.empty()),
            new Row(
                TPMMode.TPM_MODE_REQUIRED,
                true,
                Optional.of(NodeTPMUsage.NODE_TPM_USAGE_PRESENT_AND_USED)),
            new Row(
                TPMMode.TPM_MODE_BEST_EFFORT,
                false,
                Optional.of(NodeTPMUsage.NODE_TPM_USAGE_NOT_PRESENT)),
            new Row(
                TPMMode.TPM_MODE_BEST_EFFORT,
                true,
                Optional.of(NodeTPMUsage.NODE_TPM_USAGE_PRESENT_AND_USED)),
            new Row(
                TPMMode.TPM_MODE_DISABLED,
                false,
                Optional.of(NodeTPMUsage.NODE_TPM_USAGE_NOT_PRESENT)),
            new Row(
                TPMMode.TPM_MODE_DISABLED,
                true,
                Optional.of(NodeTPMUsage.NODE_TPM_USAGE_PRESENT_BUT_UNUSED)));
    try (CuratorFixture fixture = ETCD.leading()) {
      ByteString ticket = ticket(fixture.management());
      for (Row row : rows) {
        fixture.put(
            RecordKeys.CLUSTER_CONFIGURATION,
            fixture.request().configuration().toBuilder()
                .setTpmMode(row.mode())
                .build()
                .toByteArray());
        Machine machine = new Machine(fixture);
        RegisterNodeRequest request =
            machine.request(ticket).toBuilder().setHaveLocalTpm(row.present()).build();
        if (row.usage().isEmpty()) {
          CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> machine.register(request));
          continue;
        }
        assertEquals(row.usage().get(), machine.register(request).getTpmUsage(), row.toString());
        approve(fixture.management(), machine.key);
        machine.commit(UNLOCK_KEY);
        boolean sealed = row.usage().get() == NodeTPMUsage.NODE_TPM_USAGE_PRESENT_AND_USED;
        CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> machine.join(!sealed));
        assertEquals(UNLOCK_KEY, machine.join(sealed), row.toString());
      }
    }
  }

  @Test
  @DisplayName(
      "CUR-20 a repeated registration gets the whole answer again, with another join key it is refused")
  void cur20_repeated() throws Exception {
    try (CuratorFixture fixture = ETCD.leading();
        EtcdClient records = fixture.records();
        RecordStore store = new RecordStore(records.kv())) {
      Machine machine = new Machine(fixture);
      RegisterNodeRequest request = machine.request(ticket(fixture.management()));
      RegisterNodeResponse first = machine.register(request);
      Node stored = store.requireNode(machine.id);
      assertEquals(first, machine.register(request));
      assertEquals(stored, store.requireNode(machine.id));

      RegisterNodeRequest another = request.toBuilder().setJoinKey(raw(Ed25519.generate())).build();
      String refusal =
          CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> machine.register(another));
      assertTrue(refusal.contains("with another join key"), refusal);
      assertEquals(stored, store.requireNode(machine.id));

      approve(fixture.management(), machine.key);
      assertEquals(first, machine.register(request), "after the approval");

      machine.commit(UNLOCK_KEY);
      CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> machine.register(request));
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a machine cannot register with the join key of another node")
  void joinKeyOfAnother() throws Exception {
    try (CuratorFixture fixture = ETCD.leading()) {
      Machine machine = new Machine(fixture);
      RegisterNodeRequest request =
          machine.request(ticket(fixture.management())).toBuilder()
              .setJoinKey(raw(fixture.joinKey))
              .build();
      String refusal =
          CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> machine.register(request));
      assertTrue(refusal.contains("has the join key of " + machine.id), refusal);
    }
  }

  @Test
  @DisplayName("CUR-21 a repeated commit gets the same certificate, with another key it is refused")
  void cur21_repeatedCommit() throws Exception {
    try (CuratorFixture fixture = ETCD.leading();
        EtcdClient records = fixture.records();
        RecordStore store = new RecordStore(records.kv())) {
      Machine machine = new Machine(fixture);
      CuratorFixture.refused(Status.Code.NOT_FOUND, () -> machine.commit(UNLOCK_KEY));
      machine.register(machine.request(ticket(fixture.management())));
      approve(fixture.management(), machine.key);
      CommitNodeResponse first = machine.commit(UNLOCK_KEY);
      assertEquals(first, machine.commit(UNLOCK_KEY));

      Node stored = store.requireNode(machine.id);
      ByteString anotherKey = ByteString.copyFromUtf8("0123456789abcdef0123456789abcdef");
      CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> machine.commit(anotherKey));
      CuratorFixture.refused(
          Status.Code.FAILED_PRECONDITION,
          () ->
              machine.commit(
                  UNLOCK_KEY, NodeStorageSecurity.NODE_STORAGE_SECURITY_AUTHENTICATED_ENCRYPTED));
      assertEquals(stored, store.requireNode(machine.id));
    }
  }

  @Test
  @DisplayName("a commit has to satisfy the cluster's policy for volumes, with a key of its length")
  void commitSatisfiesThePolicy() throws Exception {
    try (CuratorFixture fixture = ETCD.leading()) {
      ByteString ticket = ticket(fixture.management());
      Machine machine = new Machine(fixture);
      machine.register(machine.request(ticket));
      approve(fixture.management(), machine.key);
      CuratorFixture.refused(
          Status.Code.INVALID_ARGUMENT, () -> machine.commit(UNLOCK_KEY.substring(1)));
      CuratorFixture.refused(
          Status.Code.INVALID_ARGUMENT,
          () -> machine.commit(UNLOCK_KEY, NodeStorageSecurity.NODE_STORAGE_SECURITY_INSECURE));
      CuratorFixture.refused(
          Status.Code.INVALID_ARGUMENT,
          () -> machine.commit(UNLOCK_KEY, NodeStorageSecurity.NODE_STORAGE_SECURITY_INVALID));

      fixture.put(
          RecordKeys.CLUSTER_CONFIGURATION,
          fixture.request().configuration().toBuilder()
              .setStorageSecurityPolicy(
                  StorageSecurityPolicy.STORAGE_SECURITY_POLICY_NEEDS_ENCRYPTION)
              .build()
              .toByteArray());
      CuratorFixture.refused(
          Status.Code.FAILED_PRECONDITION,
          () ->
              machine.commit(ByteString.EMPTY, NodeStorageSecurity.NODE_STORAGE_SECURITY_INSECURE));
      machine.commit(UNLOCK_KEY);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("D-35 a ticket registers no more than 64 nodes that wait for approval")
  void d35_bounded() throws Exception {
    try (CuratorFixture fixture = ETCD.leading()) {
      Map<String, Node.Builder> waiting = new LinkedHashMap<>();
      for (int i = 0; i < 64; i++) {
        KeyPair key = Ed25519.generate();
        waiting.put(
            NodeId.of(key.getPublic()).text(),
            Node.newBuilder().setPublicKey(raw(key)).setFsmState(NodeState.NODE_STATE_NEW));
      }
      fixture.storeAll(waiting);
      ByteString ticket = ticket(fixture.management());
      Machine machine = new Machine(fixture);
      String refusal =
          CuratorFixture.refused(
              Status.Code.RESOURCE_EXHAUSTED, () -> machine.register(machine.request(ticket)));
      assertTrue(refusal.contains("64 nodes wait for approval, which is the limit"), refusal);

      soon(fixture.management())
          .approveNode(
              ApproveNodeRequest.newBuilder()
                  .setPubkey(waiting.values().iterator().next().getPublicKey())
                  .build());
      machine.register(machine.request(ticket));
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "D-36 a ticket for three nodes registers three of eight that come at once, each as often as it asks")
  void d36_countedTicket() throws Exception {
    try (CuratorFixture fixture = ETCD.leading();
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var tickets = RegisterTicketsGrpc.newBlockingV2Stub(fixture.asOwner());
      CuratorFixture.refused(
          Status.Code.INVALID_ARGUMENT, () -> soon(tickets).replaceTicket(places(1001)));
      assertEquals(3, soon(tickets).replaceTicket(places(3)).getMostNodes());
      ByteString ticket = ticket(fixture.management());
      List<Machine> machines = Stream.generate(() -> new Machine(fixture)).limit(8).toList();
      List<Future<Optional<String>>> answers =
          machines.stream().map(each -> threads.submit(() -> refusal(each, ticket))).toList();
      List<Machine> registered = new ArrayList<>();
      for (int i = 0; i < machines.size(); i++) {
        Optional<String> refusal = answers.get(i).get();
        if (refusal.isEmpty()) {
          registered.add(machines.get(i));
        } else {
          assertTrue(
              refusal.get().contains("the ticket has registered the 3 nodes"), refusal::toString);
        }
      }
      assertEquals(3, registered.size(), "nodes that have registered");
      for (Machine each : registered) {
        each.register(each.request(ticket));
      }
      DescribeTicketResponse described =
          soon(tickets).describeTicket(DescribeTicketRequest.getDefaultInstance());
      assertEquals(3, described.getMostNodes());
      assertEquals(3, described.getRegisteredNodes());
      String used =
          CuratorFixture.refused(
              Status.Code.FAILED_PRECONDITION, () -> ticket(fixture.management()));
      assertTrue(used.contains("polisctl cluster ticket replace"), used);
      soon(tickets).replaceTicket(ReplaceTicketRequest.getDefaultInstance());
      Machine next = new Machine(fixture);
      next.register(next.request(ticket(fixture.management())));
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("D-36 a registration in flight, when its ticket is replaced or revoked, is refused")
  void d36_inFlight() throws Exception {
    try (CuratorFixture fixture = ETCD.leading();
        EtcdClient records = fixture.records();
        RecordStore store = new RecordStore(records.kv())) {
      var tickets = RegisterTicketsGrpc.newBlockingV2Stub(fixture.asOwner());
      ticket(fixture.management());
      RegisterTicket replaced = store.registerTicket().orElseThrow();
      soon(tickets).replaceTicket(places(2));
      refusedInFlight(store, replaced);
      RegisterTicket revoked = store.registerTicket().orElseThrow();
      soon(tickets).revokeTicket(RevokeTicketRequest.getDefaultInstance());
      refusedInFlight(store, revoked);
    }
  }

  /** Writes the record of a node whose ticket was compared before. */
  private static void refusedInFlight(RecordStore store, RegisterTicket compared) throws Exception {
    KeyPair key = Ed25519.generate();
    Node node =
        Node.newBuilder()
            .setId(NodeId.of(key.getPublic()).text())
            .setPublicKey(raw(key))
            .setJoinKey(raw(Ed25519.generate()))
            .setFsmState(NodeState.NODE_STATE_NEW)
            .build();
    RpcException refused =
        assertThrows(RpcException.class, () -> store.register(node, compared, before -> before));
    assertTrue(refused.getMessage().contains("registerticket invalid"), refused.getMessage());
    assertEquals(Optional.empty(), store.node(node.getId()));
  }

  private static ReplaceTicketRequest places(int most) {
    return ReplaceTicketRequest.newBuilder().setMostNodes(most).build();
  }

  /** Registers a machine; returns why it was refused, if it was. */
  private static Optional<String> refusal(Machine machine, ByteString ticket) throws Exception {
    try {
      machine.register(machine.request(ticket));
      return Optional.empty();
    } catch (StatusException e) {
      assertEquals(Status.Code.FAILED_PRECONDITION, e.getStatus().getCode(), e::getMessage);
      return Optional.of(e.getMessage());
    }
  }

  private static <S extends AbstractStub<S>> S soon(S stub) {
    return stub.withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  /** Calls as a machine that becomes a node. */
  private static final class Machine {
    private final KeyPair key = Ed25519.generate();
    private final KeyPair join = Ed25519.generate();
    private final String id = NodeId.of(key.getPublic()).text();
    private final CuratorFixture cluster;
    private final CuratorBlockingV2Stub curator;

    private Machine(CuratorFixture cluster) {
      this.cluster = cluster;
      this.curator = CuratorGrpc.newBlockingV2Stub(cluster.asKey(key));
    }

    private RegisterNodeRequest request(ByteString ticket) {
      return RegisterNodeRequest.newBuilder()
          .setRegisterTicket(ticket)
          .setJoinKey(raw(join))
          .setLabels(
              NodeLabels.newBuilder()
                  .addPairs(NodeLabels.Pair.newBuilder().setKey("rack").setValue("7"))
                  .addPairs(NodeLabels.Pair.newBuilder().setKey("rack").setValue("8"))
                  .addPairs(NodeLabels.Pair.newBuilder().setKey("no key").setValue("x")))
          .build();
    }

    private RegisterNodeResponse register(RegisterNodeRequest request) throws Exception {
      return soon(curator).registerNode(request);
    }

    private CommitNodeResponse commit(ByteString half) throws Exception {
      return commit(half, NodeStorageSecurity.NODE_STORAGE_SECURITY_ENCRYPTED);
    }

    private CommitNodeResponse commit(ByteString half, NodeStorageSecurity security)
        throws Exception {
      return soon(curator)
          .commitNode(
              CommitNodeRequest.newBuilder()
                  .setClusterUnlockKey(half)
                  .setStorageSecurity(security)
                  .build());
    }

    private ByteString join(boolean sealed) throws Exception {
      return joined(sealed).getClusterUnlockKey();
    }

    private JoinNodeResponse joined(boolean sealed) throws Exception {
      return soon(CuratorGrpc.newBlockingV2Stub(cluster.asKey(join)))
          .joinNode(JoinNodeRequest.newBuilder().setUsingSealedConfiguration(sealed).build());
    }
  }
}
