package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.FieldMask;
import dev.polis.api.curator.BootstrapOutcome;
import dev.polis.api.curator.CuratorException;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.curator.api.ConfigurationRules;
import dev.polis.curator.api.RoleChanges;
import dev.polis.curator.record.CuratorPki;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyRange;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.TestThreads;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.Secret;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Pem;
import dev.polis.wire.api.ConfigureClusterRequest;
import dev.polis.wire.api.DeleteNodeRequest;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.ManagementGrpc.ManagementBlockingV2Stub;
import dev.polis.wire.api.Node;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import dev.polis.wire.api.UpdateNodeRolesRequest;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.common.NodeStorageSecurity;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorGrpc.CuratorBlockingV2Stub;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import dev.polis.wire.curator.UpdateNodeStatusRequest;
import dev.polis.wire.curator.WatchRequest;
import dev.polis.wire.roles.Role;
import dev.polis.wire.roles.RoleChange;
import io.grpc.Status;
import io.grpc.StatusException;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CuratorServiceTest {

  /** A pattern on which each further letter doubles the time of a backtracking engine. */
  private static final String CATASTROPHIC_PATTERN = "(a*)*b";

  private static final String CATASTROPHIC_INPUT = "a".repeat(5000);

  private static CuratorFixture fixture;
  private static ManagementBlockingV2Stub owner;
  private static CuratorBlockingV2Stub node;

  @BeforeAll
  static void start() throws Exception {
    fixture = CuratorFixture.leading();
    owner = ManagementGrpc.newBlockingV2Stub(fixture.asOwner());
    node = CuratorGrpc.newBlockingV2Stub(fixture.asNode());
  }

  @AfterAll
  static void stop() throws Exception {
    fixture.close();
  }

  private static ManagementBlockingV2Stub owner() {
    return owner.withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  private static CuratorBlockingV2Stub node() {
    return node.withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  private static String refused(Status.Code code, Executable call) {
    return CuratorFixture.refused(code, call);
  }

  private static List<Node> nodes(String filter) throws Exception {
    return CuratorFixture.nodes(owner, filter);
  }

  private static void reportStatus(String address) throws Exception {
    fixture.reportStatus(node, address);
  }

  @Test
  @DisplayName("SEED-07 a repeated bootstrap gives the same certificates, another one is refused")
  void seed07_bootstrapOnce() throws Exception {
    BootstrapOutcome again = fixture.curator.bootstrap(fixture.request());
    assertEquals(fixture.clusterCa(), again.clusterCa());
    String refusal =
        assertThrows(
                CuratorException.class,
                () -> fixture.curator.bootstrap(fixture.request(Ed25519.generate())))
            .getMessage();
    assertTrue(refusal.contains("owner has another key"), refusal);
    try (CuratorFixture stranger = CuratorFixture.founding();
        CuratorFixture other = CuratorFixture.idle()) {
      stranger.curator.bootstrap(stranger.request());
      other.redirectTo(stranger);
      String foreign =
          assertThrows(CuratorException.class, () -> other.curator.bootstrap(other.request()))
              .getMessage();
      assertTrue(foreign.startsWith("attempted to re-register node"), foreign);
    }
  }

  @Test
  void theRecordOfTheFirstNodeHasTheSecurityOfItsVolume() throws Exception {
    assertEquals(
        NodeStorageSecurity.NODE_STORAGE_SECURITY_ENCRYPTED,
        nodes("").getFirst().getStorageSecurity());
  }

  @Test
  void theClustersHalfOfTheVolumeKeyIsReadFromTheRecordOfTheNode() throws Exception {
    try (Secret half = fixture.curator.clusterUnlockKey(fixture.credentials())) {
      assertEquals(Secret.of(CuratorFixture.UNLOCK_KEY), half);
    }
  }

  @Test
  void givenWatchOfNothing_thenInvalidArgument() {
    assertTrue(
        refused(
                Status.Code.INVALID_ARGUMENT,
                () -> node().watch(WatchRequest.getDefaultInstance()).read())
            .contains("node_in_cluster or nodes_in_cluster"));
  }

  @Test
  @DisplayName("CUR-07 a node updates its own status only")
  void cur07_ownStatus() {
    String other = "metropolis-" + "0".repeat(32);
    assertTrue(
        refused(
                Status.Code.PERMISSION_DENIED,
                () ->
                    node()
                        .updateNodeStatus(
                            UpdateNodeStatusRequest.newBuilder()
                                .setNodeId(other)
                                .setStatus(NodeStatus.newBuilder().setExternalAddress("127.0.0.1"))
                                .build()))
            .contains(other));
    assertTrue(
        refused(Status.Code.INVALID_ARGUMENT, () -> reportStatus("nowhere")).contains("nowhere"));
  }

  @Test
  @DisplayName("Concurrent updates of one record are all applied")
  void concurrentUpdatesOfOneRecord() throws Exception {
    int many = 64;
    ConcurrentLinkedQueue<String> failed = new ConcurrentLinkedQueue<>();
    try (ExecutorService callers = new TestThreads()) {
      for (int i = 1; i <= many; i++) {
        String address = "127.0.9." + i;
        callers.execute(
            () -> {
              try {
                reportStatus(address);
              } catch (Exception refusal) {
                failed.add(refusal.toString());
              }
            });
      }
    }
    assertEquals(List.of(), List.copyOf(failed));
  }

  @Test
  @DisplayName("CUR-09 the cluster's directory and certificate")
  void cur09_clusterInfo() throws Exception {
    reportStatus("127.0.0.1");
    var info = owner().getClusterInfo(GetClusterInfoRequest.getDefaultInstance());
    assertEquals(1, info.getClusterDirectory().getNodesCount());
    assertEquals(1, info.getClusterDirectory().getNodes(0).getAddressesCount());
    assertEquals(fixture.clusterCa(), Pem.certificate(info.getCaCertificate().toByteArray()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"node.", "node.nonsense == 1", "1 + 1", "'text'", "unknown == 1"})
  @DisplayName("CUR-10 a filter that is not a boolean expression is refused with its text")
  void cur10_badFilter(String filter) {
    String refusal = refused(Status.Code.INVALID_ARGUMENT, () -> nodes(filter));
    assertTrue(refusal.contains(filter), refusal);
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      textBlock =
          """
          node.state == NODE_STATE_UPP            | "NODE_STATE_UPP" is unknown; did you mean "NODE_STATE_UP"?
          node.health == HEALTHY                  | "HEALTHY" is unknown; there are
          node.health == HEALTHY                  | HEALTH_HEALTHY
          node.health == HEALTHY                  | NODE_TPM_USAGE_PRESENT_AND_USED
          nod.state == NODE_STATE_UP              | "nod" is unknown; did you mean "node"?
          node.helth == HEALTH_HEALTHY            | "helth" is unknown; did you mean "health"?
          node.status.version.relese.major == 1   | "relese" is unknown; did you mean "release"?
          has(node.roles.kubernetes_workr)        | "kubernetes_workr" is unknown; did you mean "kubernetes_worker"?
          ..                                      | filter ".."
          HEALTH.HEALTHY == 1                     | "HEALTH" is unknown; there are
          node.labels.pairs.exists(p, p.ky == "") | undefined field 'ky'
          """,
      delimiter = '|')
  @DisplayName("CUR-10 a filter with a name that does not exist is refused with those that do")
  void cur10_unknownName(String filter, String said) {
    String refusal = refused(Status.Code.INVALID_ARGUMENT, () -> nodes(filter));
    assertTrue(refusal.contains(said), refusal);
  }

  @Test
  @DisplayName(
      "CUR-10 filters see the values of every enum of a node, by their short and full names")
  void cur10_enumNames() throws Exception {
    assertEquals(1, nodes("node.tpm_usage == NODE_TPM_USAGE_NOT_PRESENT").size());
    assertEquals(1, nodes("node.health != HEALTH_INVALID").size());
    assertEquals(1, nodes("node.health != Node.Health.HEALTH_INVALID").size());
    assertEquals(1, nodes("node.state == metropolis.proto.common.NodeState.NODE_STATE_UP").size());
  }

  @Test
  @DisplayName("a filter whose pattern makes a backtracking engine hang is answered at once")
  void catastrophicPatternInFilter() throws Exception {
    String filter = "'%s'.matches('%s')".formatted(CATASTROPHIC_INPUT, CATASTROPHIC_PATTERN);
    assertTimeoutPreemptively(CuratorFixture.SOON, () -> assertEquals(0, nodes(filter).size()));
  }

  @Test
  @DisplayName("CUR-11 a role with an open name is given, listed, filtered by, and taken away")
  void cur11_openRoles() throws Exception {
    owner().updateNodeRoles(roles().addOthers(role("NightlyBackup", true)).build());
    owner().updateNodeRoles(roles().addOthers(role("Archive", true)).build());
    owner().updateNodeRoles(roles().addOthers(role("NightlyBackup", true)).build());
    assertEquals(List.of("Archive", "NightlyBackup"), openRoles());
    assertTrue(nodes("").getFirst().getRoles().hasConsensusMember(), "the others stay");
    assertEquals(1, nodes("node.roles.others.exists(role, role.name == 'NightlyBackup')").size());

    owner()
        .updateNodeRoles(
            roles()
                .addOthers(role("NightlyBackup", false))
                .addOthers(role("Archive", false))
                .build());
    assertEquals(List.of(), openRoles());
  }

  @Test
  @DisplayName("CUR-11 malformed, doubled and well-known names among the open ones are refused")
  void cur11_openRolesRefused() throws Exception {
    assertTrue(
        refused(
                Status.Code.INVALID_ARGUMENT,
                () -> owner().updateNodeRoles(roles().addOthers(role("night/ly", true)).build()))
            .contains("role \"night/ly\" is not the name of a role: use 1 to 63"));
    assertTrue(
        refused(
                Status.Code.INVALID_ARGUMENT,
                () ->
                    owner()
                        .updateNodeRoles(
                            roles()
                                .addOthers(role("Archive", true))
                                .addOthers(role("Archive", false))
                                .build()))
            .contains("the request has role Archive twice"));
    assertTrue(
        refused(
                Status.Code.INVALID_ARGUMENT,
                () ->
                    owner()
                        .updateNodeRoles(roles().addOthers(role("KubernetesWorker", true)).build()))
            .contains("has a field of its own"));
    UpdateNodeRolesRequest.Builder many = roles();
    for (int i = 0; i <= RoleChanges.MOST_OTHERS; i++) {
      many.addOthers(role("Role" + i, true));
    }
    assertTrue(
        refused(Status.Code.FAILED_PRECONDITION, () -> owner().updateNodeRoles(many.build()))
            .contains("the limit is 64"));
    assertEquals(List.of(), openRoles());
  }

  private static RoleChange role(String name, boolean wanted) {
    return RoleChange.newBuilder().setName(name).setWanted(wanted).build();
  }

  private List<String> openRoles() throws Exception {
    return nodes("").getFirst().getRoles().getOthersList().stream().map(Role::getName).toList();
  }

  private static UpdateNodeRolesRequest.Builder roles() {
    return UpdateNodeRolesRequest.newBuilder().setId(fixture.id.text());
  }

  @Test
  @DisplayName("CUR-13 the leader names itself")
  void cur13_leader() throws Exception {
    GetCurrentLeaderResponse leader =
        CuratorLocalGrpc.newBlockingV2Stub(fixture.asNobody())
            .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
            .getCurrentLeader(GetCurrentLeaderRequest.getDefaultInstance())
            .read();
    assertEquals(fixture.id.text(), leader.getLeaderNodeId());
    assertEquals(fixture.id.text(), leader.getThisNodeId());
    assertEquals(fixture.address().getAddress().getHostAddress(), leader.getLeaderHost());
    assertEquals(7835, leader.getLeaderPort());
    assertEquals(
        ByteString.copyFrom(Pem.der(fixture.clusterCa())),
        CuratorLocalGrpc.newBlockingV2Stub(fixture.asNobody())
            .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
            .getCACertificate(GetCACertificateRequest.getDefaultInstance())
            .getIdentityCaCertificate());
  }

  @Test
  @DisplayName("CUR-17 labels are changed together or not at all")
  void cur17_labels() throws Exception {
    owner().updateNodeLabels(labels().addUpsert(pair("test2", "d")).addDelete("test1").build());
    Map<String, String> expected = Map.of("test2", "d", "test3", "c");
    assertEquals(expected, labelsOfNode());
    List.of(
            labels().addUpsert(pair("x", "1")).addUpsert(pair("x", "2")),
            labels().addDelete("x").addDelete("x"),
            labels().addUpsert(pair("x", "1")).addDelete("x"),
            labels().addUpsert(pair("-x", "1")),
            labels().addDelete("-x"),
            labels().addDelete(""),
            labels().addDelete("a/b/c"),
            labels().addUpsert(pair("x", "a/b")))
        .forEach(
            bad ->
                refused(Status.Code.INVALID_ARGUMENT, () -> owner().updateNodeLabels(bad.build())));
    var many = labels();
    for (int i = 0; i < 127; i++) {
      many.addUpsert(pair("many" + i, ""));
    }
    assertTrue(
        refused(Status.Code.OUT_OF_RANGE, () -> owner().updateNodeLabels(many.build()))
            .contains("129 labels"));
    assertEquals(expected, labelsOfNode());
  }

  private static UpdateNodeLabelsRequest.Builder labels() {
    return UpdateNodeLabelsRequest.newBuilder().setId(fixture.id.text());
  }

  private static UpdateNodeLabelsRequest.Pair pair(String key, String value) {
    return UpdateNodeLabelsRequest.Pair.newBuilder().setKey(key).setValue(value).build();
  }

  private static Map<String, String> labelsOfNode() throws Exception {
    return nodes("").getFirst().getLabels().getPairsList().stream()
        .collect(
            java.util.stream.Collectors.toMap(
                dev.polis.wire.common.NodeLabels.Pair::getKey,
                dev.polis.wire.common.NodeLabels.Pair::getValue));
  }

  @Test
  @DisplayName("CUR-19 and D-03 the configuration is merged; a missing mask does no harm")
  void cur19_configuration() throws Exception {
    assertTrue(
        refused(
                Status.Code.INVALID_ARGUMENT,
                () ->
                    owner()
                        .configureCluster(
                            ConfigureClusterRequest.newBuilder()
                                .setNewConfig(expressions("a"))
                                .build()))
            .contains("update_mask"));
    configure(expressions(), expressions("a"), true);
    refused(
        Status.Code.FAILED_PRECONDITION, () -> configure(expressions("b"), expressions("c"), true));
    ClusterConfiguration merged = configure(expressions("x"), expressions("d"), false);
    assertEquals("d", merged.getKubernetes().getNodeLabelsToSynchronize(0).getRegexp());
    assertEquals("cluster.internal", merged.getClusterDomain());
    for (String bad : List.of("(", "(?=lookahead)", "(a)\\1", "a**")) {
      String refusal =
          refused(
              Status.Code.INVALID_ARGUMENT,
              () -> configure(expressions(), expressions(bad), false));
      assertTrue(refusal.contains(bad) && refusal.contains("RE2"), refusal);
    }
    for (String good : List.of("(?P<name>a+)\\z", "\\Qa.b\\E", CATASTROPHIC_PATTERN)) {
      configure(expressions(), expressions(good), false);
    }
    refused(
        Status.Code.INVALID_ARGUMENT,
        () ->
            owner()
                .configureCluster(
                    ConfigureClusterRequest.newBuilder()
                        .setNewConfig(expressions("a"))
                        .setUpdateMask(FieldMask.newBuilder().addPaths("cluster_domain"))
                        .build()));
  }

  @Test
  @Tag("attack")
  @DisplayName("a regular expression that would fill the memory is refused before it is compiled")
  void largeExpression() throws Exception {
    String refusal =
        refused(
            Status.Code.INVALID_ARGUMENT,
            () -> configure(expressions(), expressions("((x{100}){100}){100}"), false));
    assertTrue(refusal.contains("make it shorter"), refusal);
  }

  private static ClusterConfiguration expressions(String... expressions) {
    var kubernetes = ClusterConfiguration.Kubernetes.newBuilder();
    for (String expression : expressions) {
      kubernetes.addNodeLabelsToSynchronize(
          ClusterConfiguration.Kubernetes.NodeLabelsToSynchronize.newBuilder()
              .setRegexp(expression));
    }
    return ClusterConfiguration.newBuilder().setKubernetes(kubernetes).build();
  }

  private static ClusterConfiguration configure(
      ClusterConfiguration base, ClusterConfiguration wanted, boolean withBase) throws Exception {
    var request =
        ConfigureClusterRequest.newBuilder()
            .setNewConfig(wanted)
            .setUpdateMask(
                FieldMask.newBuilder().addPaths(ConfigurationRules.LABELS_TO_SYNCHRONIZE));
    if (withBase) {
      request.setBaseConfig(base);
    }
    return owner().configureCluster(request.build()).getResultingConfig();
  }

  @Test
  void givenTheOwnerAsksAgain_thenTheSameCertificate() throws Exception {
    assertEquals(
        CuratorFixture.escrow(fixture.asKey(fixture.ownerKey), "owner", fixture.ownerKey),
        CuratorFixture.escrow(fixture.asKey(fixture.ownerKey), "owner", fixture.ownerKey));
  }

  @Test
  void givenCallersWithoutTheOwnersKey_thenEscrowNamesTheReason() {
    var stranger = Ed25519.generate();
    assertTrue(
        refused(
                Status.Code.PERMISSION_DENIED,
                () -> CuratorFixture.escrow(fixture.asKey(stranger), "owner", stranger))
            .contains("not that of the cluster's owner"));
    assertTrue(
        refused(
                Status.Code.FAILED_PRECONDITION,
                () -> CuratorFixture.escrow(fixture.asKey(stranger), "owner", fixture.ownerKey))
            .contains("another key"));
    assertTrue(
        refused(
                Status.Code.UNAUTHENTICATED,
                () -> CuratorFixture.escrow(fixture.asNobody(), "owner", fixture.ownerKey))
            .contains("self-signed"));
    assertTrue(
        refused(
                Status.Code.PERMISSION_DENIED,
                () ->
                    CuratorFixture.escrow(
                        fixture.asKey(fixture.ownerKey), "root", fixture.ownerKey))
            .contains("\"root\""));
  }

  @Test
  void givenTheDeletionOfANode_thenFailedPrecondition() {
    refused(
        Status.Code.FAILED_PRECONDITION,
        () -> owner().deleteNode(DeleteNodeRequest.newBuilder().setId(fixture.id.text()).build()));
  }

  @Test
  void givenUnknownOrMalformedNode_thenTheRefusalNamesIt() {
    String unknown = "metropolis-" + "1".repeat(32);
    assertTrue(
        refused(
                Status.Code.NOT_FOUND,
                () -> owner().deleteNode(DeleteNodeRequest.newBuilder().setId(unknown).build()))
            .contains(unknown));
    assertTrue(
        refused(
                Status.Code.INVALID_ARGUMENT,
                () -> owner().deleteNode(DeleteNodeRequest.newBuilder().setId("x").build()))
            .contains("\"x\""));
  }

  @Test
  @DisplayName("serving again with a renewed certificate changes nothing, another CA is refused")
  void serveAgain() throws Exception {
    CuratorStatus before = fixture.curator.status().peek().orElseThrow();
    CertificateAuthority other = CertificateAuthority.create("Another cluster");
    try (EtcdClient etcd = fixture.records()) {
      // A renewal is due once two thirds of a certificate's life have passed.
      InstantSource later =
          InstantSource.fixed(
              fixture.credentials().certificate().getNotAfter().toInstant().minusSeconds(60));
      NodeCredentials renewed =
          fixture
              .credentials()
              .renewed(
                  new CuratorPki(etcd, etcd.kv(), later)
                      .ensureNode(fixture.id, fixture.nodeKey.getPublic()));
      assertNotEquals(fixture.credentials().certificate(), renewed.certificate());

      fixture.curator.serve(renewed);

      assertEquals(before, fixture.curator.status().peek().orElseThrow(), "no new election");
      assertEquals(renewed.certificate(), fixture.curator.renew(renewed));
    }
    NodeCredentials elsewhere =
        new NodeCredentials(
            fixture.nodeKey.getPrivate(),
            other.issueNode(fixture.nodeKey.getPublic()),
            other.certificate());
    assertTrue(
        assertThrows(CuratorException.class, () -> fixture.curator.serve(elsewhere))
            .getMessage()
            .contains("another CA"));
  }

  @Test
  void givenAYoungCertificate_thenRenewalReturnsIt() throws Exception {
    try (CuratorFixture own = CuratorFixture.leading()) {
      assertEquals(own.credentials().certificate(), own.curator.renew(own.credentials()));
    }
  }

  @Test
  void givenEtcdWasKilled_thenCallsSucceedAgain() throws Exception {
    try (CuratorFixture own = CuratorFixture.leading()) {
      ManagementBlockingV2Stub stub = ManagementGrpc.newBlockingV2Stub(own.asOwner());
      own.etcd().member(0).kill();
      own.etcd().member(0).restart();
      Await.until(
          CuratorFixture.SOON.multipliedBy(2),
          "the curator to answer after etcd was killed",
          () -> answers(stub));
    }
  }

  @Test
  @DisplayName(
      "a CA of the cluster that a client deletes with all records is missed, and no other one is made")
  void recordsAreGone() throws Exception {
    try (CuratorFixture own = CuratorFixture.leading();
        EtcdClient etcd = own.records()) {
      etcd.kv().delete(KeyRange.all());
      Await.until(
          CuratorFixture.SOON,
          "the curator to miss its CA",
          () -> logged(own, "etcd has no CA of the cluster"));
      assertEquals(List.of(), etcd.kv().range(KeyRange.prefix("/cluster-pki/")).keys());
    }
  }

  private static boolean logged(CuratorFixture own, String words) {
    try (LogReader reader = own.logs.read(LogQuery.of("root").withChildren().backlogAll())) {
      return reader.backlog().stream().anyMatch(entry -> entry.toString().contains(words));
    }
  }

  private static boolean answers(ManagementBlockingV2Stub stub) throws InterruptedException {
    try {
      stub.withDeadlineAfter(2, TimeUnit.SECONDS)
          .getClusterInfo(GetClusterInfoRequest.getDefaultInstance());
      return true;
    } catch (StatusException e) {
      return false;
    }
  }
}
