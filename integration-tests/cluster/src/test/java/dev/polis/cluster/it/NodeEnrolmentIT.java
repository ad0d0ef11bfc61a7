package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import com.google.protobuf.util.JsonFormat;
import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.rpc.LeaderHint;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.NodeParameters;
import dev.polis.wire.api.NodeParameters.ClusterRegister;
import dev.polis.wire.common.ClusterDirectory;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.RegisterNodeRequest;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Lets further nodes join the cluster of a first one, as its operator does. */
@Tag("full")
class NodeEnrolmentIT {

  private static final String FIRST = "127.0.46.1";
  private static final int CURATOR_PORT = 7835;

  @TempDir static Path directory;
  private static GrowingCluster cluster;
  private static TestNode first;
  private static String firstId;

  /** The first node's clock; empty on a machine without libfaketime. */
  private static Optional<NodeClock> clock = Optional.empty();

  @BeforeAll
  static void found() throws Exception {
    TestNode founder = TestNode.member(directory.resolve("first"), FIRST, Mode.INSECURE);
    Optional<Path> library = NodeClock.library();
    if (library.isPresent()) {
      clock =
          Optional.of(
              NodeClock.of(founder, library.get(), directory.resolve("clock"), NodeClock.TRUE));
    }
    cluster = new GrowingCluster(directory, founder);
    first = cluster.first();
    firstId = cluster.firstId();
  }

  @AfterAll
  static void sweep() {
    cluster.close();
  }

  @Test
  @DisplayName(
      "D-06, D-09 another registration with the key of a node is refused; the node is approved, and HOME as the same member after a kill at any step")
  void aSecondNodeLives() throws Exception {
    try (TestNode second = cluster.joining("second", "127.0.46.2")) {
      second.start("--security", "insecure");
      String id = GrowingCluster.awaitRegistered(second);

      JsonObject waits = cluster.listed(id).orElseThrow();
      String key = GrowingCluster.text(waits, "key");
      assertEquals("NEW", GrowingCluster.text(waits, "state"));
      assertTrue(second.said().contains("node approve " + id + " --key " + key), second.said());
      // The node answers within 2 s, which a busy machine may exceed.
      Await.until(
          TestNode.PATIENCE,
          "health to name the wait",
          () -> second.ctl("health").all().contains("waiting for approval by an operator"),
          () -> second.ctl("health").all());
      refusesOtherApprovals(id);
      refusesWithoutEvidence(id);
      refusesAnotherRegistration(second, id);
      assertEquals("NEW", GrowingCluster.text(cluster.listed(id).orElseThrow(), "state"));

      second.killJvm();
      Finished approved = first.ctl("node", "approve", id, "--key", key);
      assertTrue(approved.requireSuccess("approve").out().contains(key), approved.all());
      second.up("--security", "insecure");
      isMember(second, id);

      second.killJvm();
      second.up();
      isMember(second, id);
      first.ctl("node", "approve", id).requireSuccess("the approval of a member is repeatable");
    }
  }

  /** Changes the parameters of a machine, as a mistake of an operator does. */
  private interface Mistake {
    void make(ClusterRegister.Builder register) throws Exception;
  }

  @Test
  @DisplayName(
      "D-33, D-36 a machine with a wrong or a used ticket, the CA of another cluster or no address is refused: its screen and the leader's audit log say why, and nothing has changed")
  void refusedMachines() throws Exception {
    List<String> listed = states();
    refused(
        "wrong",
        "registerticket invalid: this cluster did not issue it",
        register -> register.setRegisterTicket(ByteString.copyFrom(new byte[32])));
    leaderHas("registerticket invalid: this cluster did not issue it");
    refused(
        "another",
        "belong to another cluster",
        register ->
            register.setCaCertificate(
                ByteString.copyFrom(
                    Pem.der(CertificateAuthority.create("another").certificate()))));
    refused(
        "lost",
        "and the address of none",
        register -> register.getClusterDirectoryBuilder().getNodesBuilder(0).clearAddresses());
    assertEquals(listed, states(), "the records");

    cluster.ctl("cluster", "ticket", "replace", "--nodes", "1").requireSuccess("a ticket for one");
    try (TestNode only = cluster.joining("only", "127.0.46.7");
        TestNode late = cluster.joining("late", "127.0.46.6")) {
      only.start("--security", "insecure");
      String id = GrowingCluster.awaitRegistered(only);
      refused(late, "the ticket has registered the 1 nodes that it is for");
      leaderHas("the ticket has registered the 1 nodes that it is for");
      assertEquals("NEW", GrowingCluster.text(cluster.listed(id).orElseThrow(), "state"));
      cluster.ctl("node", "delete", id).requireSuccess("delete");
    }
    cluster.ctl("cluster", "ticket", "replace").requireSuccess("a ticket for all");
  }

  @Test
  @DisplayName(
      "D-36 a machine with a ticket that has ended is refused: its screen and the leader's audit log say why and what to do, and nothing has changed")
  void endedTicket() throws Exception {
    assumeTrue(
        clock.isPresent(),
        "stepping the clock of one node needs libfaketime: install the package faketime");
    String ended =
        "registerticket invalid: it has ended; make new node parameters (polisctl params make --register)";
    List<String> listed = states();
    try (TestNode late = cluster.joining("ended", "127.0.46.8")) {
      // A ticket is for 24 h.
      clock.get().set("+25h");
      refused(late, ended);
      leaderHas(ended);
    } finally {
      clock.get().set(NodeClock.TRUE);
    }
    assertEquals(listed, states(), "the records");
  }

  @Test
  @DisplayName(
      "a copy of a voter's disk is refused at another address; one of another member starts, health names both on both sides, and the records stay those of the first")
  void copiedDisks() throws Exception {
    List<String> members = members();
    try (TestNode voter = copied(first, "voter", "127.0.46.9")) {
      Finished refused = voter.refused();
      assertNotEquals(0, refused.code(), refused.all());
      for (String word : List.of(FIRST, voter.address(), "a copy", "polisctl params make")) {
        assertTrue(refused.lastLine().contains(word), refused::all);
      }
    }
    assertEquals(members, members());

    try (TestNode one = cluster.joining("one", "127.0.46.10")) {
      String id = cluster.admit(one);
      try (TestNode other = copied(one, "other", "127.0.46.11")) {
        other.start();
        for (TestNode each : List.of(one, other)) {
          Await.until(
              TestNode.PATIENCE,
              "health at " + each.address() + " to name both",
              () ->
                  Stream.of("this node runs twice", one.address(), other.address(), "./polis down")
                      .allMatch(each.ctl("health").all()::contains),
              () -> each.ctl("health").all() + other.said());
        }
        other.stop();
      }
      cluster.awaitHealthy(id);
      Await.until(
          TestNode.PATIENCE,
          "the first to be well again",
          () -> !one.ctl("health").all().contains("runs twice"),
          () -> one.ctl("health").all());
      assertEquals(one.address(), GrowingCluster.text(cluster.listed(id).orElseThrow(), "address"));
      one.stop();
      cluster.ctl("node", "delete", id, "--bypass-not-decommissioned").requireSuccess("delete");
    }
  }

  /** Returns the id, the role and the addresses of each member of etcd. */
  private static List<String> members() {
    return cluster.members().stream()
        .map(
            each ->
                Stream.of("id", "name", "role", "peerUrls", "clientUrls")
                    .map(field -> each.get(field).toString())
                    .collect(Collectors.joining(" ")))
        .toList();
  }

  /** Makes a copy of the disk of a node that runs, for a machine at another address. */
  private static TestNode copied(TestNode node, String name, String address) throws Exception {
    Path copy = directory.resolve(name);
    TestNode.finish(
            List.of("cp", "-a", "--sparse=always", node.state().toString(), copy.toString()),
            Map.of())
        .requireSuccess("cp");
    return TestNode.bare(copy, address);
  }

  /** Returns the id and state of each record. */
  private static List<String> states() throws Exception {
    return nodes()
        .map(node -> GrowingCluster.text(node, "id") + " " + GrowingCluster.text(node, "state"))
        .toList();
  }

  private static void refused(String name, String reason, Mistake mistake) throws Exception {
    try (TestNode machine = cluster.joining(name, "127.0.46.6")) {
      NodeParameters.Builder parameters = parameters(machine).toBuilder();
      mistake.make(parameters.getClusterRegisterBuilder());
      Files.writeString(
          machine.state().resolve("esp/parameters.json"), JsonFormat.printer().print(parameters));
      refused(machine, reason);
    }
  }

  private static void refused(TestNode machine, String reason) throws Exception {
    Finished refused = machine.refused("--security", "insecure");
    assertNotEquals(0, refused.code(), refused.all());
    assertTrue(refused.lastLine().contains(reason), refused::all);
    assertEquals(List.of(), machine.leftovers());
    assertFalse(Files.exists(machine.state().resolve("data/node")), "it has made a volume");
  }

  private static void leaderHas(String reason) {
    Finished audit = first.ctl("audit", "--last", "50");
    assertTrue(audit.out().contains(reason), audit::all);
  }

  private static void refusesOtherApprovals(String id) {
    String unknown = NodeId.PREFIX + "0".repeat(32);
    Finished ofNone = first.ctl("node", "approve", unknown);
    assertNotEquals(0, ofNone.code());
    assertTrue(ofNone.err().contains("there is no node \"" + unknown + "\""), ofNone.all());
    Finished ofAnotherKey = first.ctl("node", "approve", id, "--key", "SHA256:another");
    assertNotEquals(0, ofAnotherKey.code());
    assertTrue(ofAnotherKey.err().contains("it was not approved"), ofAnotherKey.all());
  }

  /** Demands evidence of a TPM for a while, which no node of this test has. */
  private static void refusesWithoutEvidence(String id) {
    String digest = "ab".repeat(32);
    attestation("allow", "1.4.0", digest);
    assertTrue(attestation("require").contains("1.4.0=" + digest));
    Finished refused = first.ctl("node", "approve", id);
    assertNotEquals(0, refused.code());
    assertTrue(refused.out().contains("machine: no evidence of a TPM"), refused.all());
    assertTrue(refused.err().contains("it has proved nothing of its machine"), refused.all());
    attestation("forget", "1.4.0");
    assertTrue(attestation("relax").contains("false"));
  }

  private static String attestation(String... arguments) {
    return first
        .ctl(
            Stream.concat(Stream.of("cluster", "attestation"), Stream.of(arguments))
                .toArray(String[]::new))
        .requireSuccess("cluster attestation " + arguments[0])
        .out();
  }

  private static void isMember(TestNode second, String id) throws Exception {
    // One node's heartbeats may be late on a busy machine while the other one is asked for.
    Await.until(
        TestNode.PATIENCE,
        "both nodes to be listed as UP and healthy",
        () -> upNodes() == 2,
        () -> first.json("node", "list"));
    JsonObject shown = cluster.listed(id).orElseThrow();
    assertEquals(second.address(), GrowingCluster.text(shown, "address"));
    assertEquals("[]", shown.get("rolesWanted").toString());
    assertEquals(List.of(), second.children("etcd"), "it keeps no records");
    assertFalse(Files.exists(Enrolment.journalFile(second)), "the journal is still there");
    assertEquals(id, Enrolment.certified(second).text());
    directoryNamesTheFirstAlone();
    refersToTheLeader(second, id);
  }

  private static long upNodes() throws Exception {
    return nodes()
        .filter(node -> GrowingCluster.text(node, "state").equals("UP"))
        .filter(node -> GrowingCluster.text(node, "health").equals("HEALTHY"))
        .count();
  }

  private static Stream<JsonObject> nodes() throws Exception {
    return StreamSupport.stream(first.json("node", "list").getAsJsonArray().spliterator(), false)
        .map(JsonElement::getAsJsonObject);
  }

  /** Requires that clients are not sent to a curator without records. */
  private static void directoryNamesTheFirstAlone() throws Exception {
    try (OwnerApi owner = OwnerApi.of(first)) {
      ClusterDirectory directory = owner.clusterInfo().getClusterDirectory();
      assertEquals(
          List.of(firstId),
          directory.getNodesList().stream().map(ClusterDirectory.Node::getId).toList());
    }
  }

  /**
   * Requires that the second node serves no records, and that an operator who names it reaches the
   * leader nevertheless.
   */
  private static void refersToTheLeader(TestNode second, String id) throws Exception {
    ManagedChannel channel =
        OwnerApi.clients(first).dial(new InetSocketAddress(second.address(), CURATOR_PORT));
    try {
      StatusException refusal =
          Assertions.assertThrows(
              StatusException.class,
              () ->
                  ManagementGrpc.newBlockingV2Stub(channel)
                      .withDeadlineAfter(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS)
                      .getClusterInfo(GetClusterInfoRequest.getDefaultInstance()));
      assertTrue(refusal.getMessage().contains("keeps no records"), refusal.getMessage());
      assertEquals(
          Optional.of(
              new NodeEndpoint(
                  NodeId.parse(firstId),
                  new InetSocketAddress(InetAddress.ofLiteral(FIRST), CURATOR_PORT))),
          LeaderHint.of(refusal));
    } finally {
      channel.shutdownNow();
    }
    Finished asked = first.ctl("--endpoint", second.address(), "node", "list");
    asked.requireSuccess("the list of nodes, asked for at a node without records");
    assertTrue(asked.out().contains(id) && asked.out().contains(firstId), asked.all());
  }

  private static void refusesAnotherRegistration(TestNode node, String id) throws Exception {
    NodeParameters parameters = parameters(node);
    PrivateKey key =
        Ed25519.privateKeyFromSeed(Enrolment.journal(node).getNodePrivateKey().toByteArray());
    RpcClients clients =
        RpcClients.ephemeral(
            new KeyPair(Ed25519.publicKey(key), key),
            RpcTrust.cluster(
                Pem.certificate(parameters.getClusterRegister().getCaCertificate().toByteArray())));
    ManagedChannel channel = clients.dial(new InetSocketAddress(FIRST, CURATOR_PORT));
    try {
      Status refused =
          Assertions.assertThrows(
                  StatusException.class,
                  () ->
                      CuratorGrpc.newBlockingV2Stub(channel)
                          .withDeadlineAfter(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS)
                          .registerNode(
                              RegisterNodeRequest.newBuilder()
                                  .setRegisterTicket(
                                      parameters.getClusterRegister().getRegisterTicket())
                                  .setJoinKey(
                                      ByteString.copyFrom(
                                          Ed25519.raw(Ed25519.generate().getPublic())))
                                  .build()))
              .getStatus();
      assertEquals(Status.Code.FAILED_PRECONDITION, refused.getCode(), refused.toString());
      assertTrue(
          refused.getDescription().contains(id + " has registered with another join key"),
          refused.toString());
    } finally {
      channel.shutdownNow();
    }
  }

  private static NodeParameters parameters(TestNode node) throws Exception {
    NodeParameters.Builder parameters = NodeParameters.newBuilder();
    JsonFormat.parser()
        .merge(Files.readString(node.state().resolve("esp/parameters.json")), parameters);
    return parameters.build();
  }
}
