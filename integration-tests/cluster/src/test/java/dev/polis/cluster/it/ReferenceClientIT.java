package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.FieldMask;
import com.google.protobuf.UnknownFieldSet;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.Needs;
import dev.polis.rpc.BlockingStreams;
import dev.polis.wire.api.ConfigureClusterRequest;
import dev.polis.wire.api.EscrowResponse;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.GetClusterInfoResponse;
import dev.polis.wire.api.GetRegisterTicketRequest;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.LogsRequest.BacklogMode;
import dev.polis.wire.api.LogsRequest.StreamMode;
import dev.polis.wire.api.LogsResponse;
import dev.polis.wire.api.Node;
import dev.polis.wire.api.NodeParameters;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import dev.polis.wire.api.UpdateNodeRolesRequest;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.ClusterConfiguration.StorageSecurityPolicy;
import dev.polis.wire.common.ClusterConfiguration.TPMMode;
import dev.polis.wire.common.LogFilter;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.RegisterNodeRequest;
import dev.polis.wire.health.Condition;
import dev.polis.wire.health.GetHealthRequest;
import dev.polis.wire.health.HealthGrpc;
import dev.polis.wire.health.Level;
import dev.polis.wire.recovery.EnrollRequest;
import dev.polis.wire.recovery.RecoveryGrpc;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.MessageDigest;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Drives a real node with a client of the reference system, which has other credentials, parameters
 * and habits than ours, and shares only the messages with this project.
 *
 * <p>As root the node has an address outside of loopback, like a node in production.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ReferenceClientIT {

  /** An address of a documentation network, so that it shadows no real one. */
  private static final String OUTSIDE = "198.51.100.31";

  private static final String LOOPBACK = "127.0.31.3";

  private static final Duration SOON = Duration.ofSeconds(60);

  /** The port at which the reference's etcd, and formerly ours, serves its metrics. */
  private static final int ETCD_METRICS = 7842;

  private static final int ETCD_CLIENTS = 7833;
  private static final int REFUSED = 3;
  private static final String MIRRORED = "^test\\.monogon\\.dev/";

  private Path directory;
  private ReferenceKey ownerKey;
  private String address;
  private TestNode node;
  private ReferenceClient stranger;
  private ReferenceClient owner;
  private X509Certificate certificate;
  private X509Certificate ca;
  private String id;

  @BeforeAll
  void takeANode(@TempDir Path ofAll) throws Exception {
    directory = ofAll;
    ownerKey = writtenByOurs();
    address = Needs.isRoot() && takesAnotherAddress() ? OUTSIDE : LOOPBACK;
    node = TestNode.bare(directory.resolve("n"), address);
    give(node, StorageSecurityPolicy.STORAGE_SECURITY_POLICY_NEEDS_INSECURE);
    // Moves the ports that every node opens at 127.0.0.1, which are left to other nodes.
    node.up(
        "--security",
        "insecure",
        "--set",
        "dev.polis.rpc.debug.port=17837",
        "--set",
        "dev.polis.metrics.node.exporter.port=17841");
    stranger = ReferenceClient.stranger(address, ownerKey);
    ca =
        ReferenceClient.certificate(
            CuratorLocalGrpc.newBlockingV2Stub(stranger.channel(ReferenceClient.CURATOR))
                .getCACertificate(GetCACertificateRequest.getDefaultInstance())
                .getIdentityCaCertificate());
    certificate = ReferenceClient.certificate(stranger.escrow(ownerKey).getEmittedCertificate());
    owner = ReferenceClient.member(address, ownerKey, certificate, ca);
    id = owner.nodes("").getFirst().getId();
  }

  @AfterAll
  void end() throws Exception {
    if (owner != null) {
      owner.close();
    }
    if (stranger != null) {
      stranger.close();
    }
    if (node != null) {
      node.close();
    }
    if (OUTSIDE.equals(address)) {
      ip("del");
    }
  }

  private static boolean takesAnotherAddress() throws Exception {
    try {
      return ip("replace").code() == 0;
    } catch (IOException noSuchProgram) {
      return false; // the test that needs the address is then skipped with a reason
    }
  }

  private static Finished ip(String what) throws Exception {
    return Finished.of(List.of("ip", "addr", what, OUTSIDE + "/32", "dev", "lo"), Map.of(), SOON);
  }

  /** Writes parameters as the reference's tools do: to the ESP, in binary, without recovery key. */
  private void give(TestNode to, StorageSecurityPolicy policy) throws IOException {
    Path file = to.state().resolve("esp/parameters.pb");
    Files.createDirectories(file.getParent());
    Files.write(
        file,
        NodeParameters.newBuilder()
            .setClusterBootstrap(
                NodeParameters.ClusterBootstrap.newBuilder()
                    .setOwnerPublicKey(ByteString.copyFrom(ownerKey.raw()))
                    .setInitialClusterConfiguration(
                        ClusterConfiguration.newBuilder()
                            .setTpmMode(TPMMode.TPM_MODE_DISABLED)
                            .setStorageSecurityPolicy(policy)
                            .setKubernetes(synchronizing(MIRRORED))
                            .setClusterDomain("cluster.internal")))
            .build()
            .toByteArray());
  }

  private static ClusterConfiguration.Kubernetes synchronizing(String expression) {
    return ClusterConfiguration.Kubernetes.newBuilder()
        .addNodeLabelsToSynchronize(
            ClusterConfiguration.Kubernetes.NodeLabelsToSynchronize.newBuilder()
                .setRegexp(expression))
        .build();
  }

  private static Status refusal(Callable<?> call) {
    return Status.fromThrowable(assertThrows(StatusException.class, call::call));
  }

  private static void assertRefused(Status.Code code, String words, Callable<?> call) {
    Status status = refusal(call);
    assertEquals(code, status.getCode(), status.toString());
    assertContains(words, String.valueOf(status.getDescription()));
  }

  private static void assertContains(String part, String text) {
    assertTrue(text.contains(part), () -> "\"" + part + "\" is not in:\n" + text);
  }

  // ---- taking ownership

  @Test
  @DisplayName("a client whose certificate has neither subject nor issuer takes ownership")
  void takesOwnership() throws Exception {
    EscrowResponse again = stranger.escrow(ownerKey);
    X509Certificate emitted = ReferenceClient.certificate(again.getEmittedCertificate());
    emitted.verify(ca.getPublicKey());
    assertArrayEquals(ownerKey.open().getEncoded(), emitted.getPublicKey().getEncoded());
    assertContains("CN=owner", emitted.getSubjectX500Principal().getName());

    GetClusterInfoResponse info =
        owner.management().getClusterInfo(GetClusterInfoRequest.getDefaultInstance());
    assertEquals(ca, ReferenceClient.certificate(info.getCaCertificate()));
    assertEquals("cluster.internal", info.getClusterConfiguration().getClusterDomain());
    assertEquals(address, info.getClusterDirectory().getNodes(0).getAddresses(0).getHost());
    assertFalse(
        owner
            .management()
            .getRegisterTicket(GetRegisterTicketRequest.getDefaultInstance())
            .getTicket()
            .isEmpty());
  }

  @Test
  @DisplayName(
      "a certificate without names is judged by its key: another key has no owner's rights")
  void judgedByKey() throws Exception {
    ReferenceKey other = ReferenceKey.generate();
    try (ReferenceClient client = ReferenceClient.stranger(address, other)) {
      assertRefused(
          Status.Code.PERMISSION_DENIED, "not that of the cluster's", () -> client.escrow(other));
      assertRefused(Status.Code.FAILED_PRECONDITION, "another key", () -> client.escrow(ownerKey));
      assertRefused(
          Status.Code.UNAUTHENTICATED, "certificate of this cluster", () -> client.nodes(""));
      assertRefused(
          Status.Code.UNAUTHENTICATED,
          "certificate of this cluster",
          () -> client.logs(LogsRequest.getDefaultInstance()));
    }
  }

  @Test
  @DisplayName("first contact and registration accept a certificate without names")
  void firstContact() throws Exception {
    assertEquals(
        id,
        CuratorLocalGrpc.newBlockingV2Stub(stranger.channel(ReferenceClient.CURATOR))
            .getCurrentLeader(GetCurrentLeaderRequest.getDefaultInstance())
            .read()
            .getLeaderNodeId());
    // The call is refused for its ticket, which the host does not read, and not in the handshake.
    assertRefused(
        Status.Code.PERMISSION_DENIED,
        "registerticket invalid",
        () ->
            CuratorGrpc.newBlockingV2Stub(stranger.channel(ReferenceClient.CURATOR))
                .registerNode(
                    RegisterNodeRequest.newBuilder()
                        .setJoinKey(ByteString.copyFrom(ReferenceKey.generate().raw()))
                        .build()));
  }

  @Test
  @DisplayName(
      "a handshake that either side refuses gives a log line with peer and reason, on each port")
  void refusedHandshakes() throws Exception {
    try (ReferenceClient distrusting = owner.distrusting(certificate);
        ReferenceClient nameless = ReferenceClient.stranger(address, ReferenceKey.generate())) {
      for (int port :
          List.of(
              ReferenceClient.CURATOR,
              ReferenceClient.MANAGEMENT,
              ReferenceClient.METRICS,
              ReferenceClient.KUBERNETES)) {
        awaitLine(refusedAt(distrusting, port), "certificate_unknown");
      }
      // The port of metrics accepts members only, and refuses a stranger in the handshake.
      awaitLine(refusedAt(nameless, ReferenceClient.METRICS), "certificate");
      try (Socket plain = new Socket(address, ReferenceClient.METRICS)) {
        plain.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        awaitLine(local(plain), "SSL message");
      }
    }
  }

  /** Fails a handshake, and returns the client's address. */
  private String refusedAt(ReferenceClient client, int port) throws Exception {
    try (SSLSocket socket =
        (SSLSocket)
            client.tls().getSocketFactory().createSocket(InetAddress.getByName(address), port)) {
      String local = local(socket);
      socket.setSoTimeout((int) SOON.toMillis());
      assertThrows(
          IOException.class,
          () -> {
            // In TLS 1.3 a server may refuse after the client has completed its handshake.
            socket.startHandshake();
            socket.getOutputStream().write(1);
            if (socket.getInputStream().read() < 0) {
              throw new IOException("closed");
            }
          });
      return local;
    }
  }

  /** Returns the client's own address, which is 127.0.0.1 for any loopback address of the node. */
  private static String local(Socket socket) {
    return socket.getLocalAddress().getHostAddress() + ":" + socket.getLocalPort();
  }

  private void awaitLine(String client, String reason) throws Exception {
    String peer = client + " failed: ";
    Await.until(
        SOON,
        "a line \"TLS handshake with ...%s...%s\"".formatted(peer, reason),
        () ->
            owner.allLogs().stream()
                .anyMatch(
                    line ->
                        line.contains("TLS handshake with ")
                            && line.contains(peer)
                            && line.contains(reason)));
  }

  // ---- listing and filtering

  @Test
  @DisplayName("the node is listed as the reference describes it")
  void listsNodes() throws Exception {
    Node listed = owner.nodes("").getFirst();
    byte[] key = listed.getPubkey().toByteArray();
    assertEquals("metropolis-" + HexFormat.of().formatHex(Arrays.copyOf(key, 16)), listed.getId());
    assertEquals(NodeState.NODE_STATE_UP, listed.getState());
    assertTrue(listed.getRoles().hasConsensusMember());
    assertEquals(address, listed.getStatus().getExternalAddress());
    assertEquals(ReferenceClient.CURATOR, listed.getStatus().getRunningCurator().getPort());
    assertTrue(listed.getRoles().getConsensusMember().getCaCertificate().isEmpty(), "a payload");
  }

  @Test
  @DisplayName("filters use the names of enum values from the appendix")
  void filtersByEnumNames() throws Exception {
    for (String chooses :
        List.of(
            "node.state == NODE_STATE_UP",
            "node.state != NODE_STATE_NEW && node.state != NODE_STATE_STANDBY",
            "node.health != HEALTH_HEARTBEAT_TIMEOUT",
            "node.health in [HEALTH_HEALTHY, HEALTH_UNKNOWN]",
            "node.tpm_usage == NODE_TPM_USAGE_NOT_PRESENT",
            "has(node.roles.consensus_member) && !has(node.roles.kubernetes_worker)",
            "node.status.external_address == \"" + address + "\"",
            "node.id == \"" + id + "\"")) {
      assertEquals(1, owner.nodes(chooses).size(), chooses);
    }
    assertEquals(0, owner.nodes("node.state == NODE_STATE_DECOMMISSIONED").size());
    Await.until(
        SOON,
        "the node to be healthy",
        () -> !owner.nodes("node.health == HEALTH_HEALTHY").isEmpty());
  }

  @Test
  @DisplayName("a filter with an unknown name is refused with the known names")
  void unknownEnumName() {
    Status status = refusal(() -> owner.nodes("node.state == NODE_STATE_UPP"));
    assertEquals(Status.Code.INVALID_ARGUMENT, status.getCode());
    assertContains("NODE_STATE_UPP", status.getDescription());
    assertContains("NODE_STATE_UP", status.getDescription().replace("NODE_STATE_UPP", ""));
    Status far = refusal(() -> owner.nodes("node.state == SOMETHING"));
    assertEquals(Status.Code.INVALID_ARGUMENT, far.getCode());
    for (String name : List.of("NODE_STATE_NEW", "NODE_STATE_STANDBY", "HEALTH_HEALTHY")) {
      assertContains(name, far.getDescription());
    }
  }

  @Test
  @DisplayName("a filter that is no boolean is refused")
  void filterIsNoBoolean() {
    assertRefused(Status.Code.INVALID_ARGUMENT, "", () -> owner.nodes("node.id"));
    assertRefused(Status.Code.INVALID_ARGUMENT, "", () -> owner.nodes("node.state =="));
  }

  @Test
  @DisplayName("the function matches of a filter has the syntax, the meaning and the speed of RE2")
  void filtersByExpression() throws Exception {
    assertEquals(1, owner.nodes("node.id.matches('^metropolis-[0-9a-f]{32}$')").size());
    assertEquals(1, owner.nodes("node.id.matches('tropolis')").size(), "found anywhere");
    assertEquals(1, owner.nodes("node.id.matches('(?P<name>metro)')").size(), "a name as in Go");
    assertEquals(1, owner.nodes("node.id.matches('\\\\pL')").size(), "a class as in Go");
    assertEquals(0, owner.nodes("node.id.matches('^tropolis')").size());
    assertRefused(
        Status.Code.INVALID_ARGUMENT, "", () -> owner.nodes("node.id.matches('(?=metro)')"));
    // A backtracking engine would need 2 to the power of the text's length steps.
    long began = System.nanoTime();
    assertEquals(0, owner.nodes("(node.id + node.id).matches('^(([a-z]|[0-9]|-)+)+!$')").size());
    assertTrue(Duration.ofNanos(System.nanoTime() - began).compareTo(SOON) < 0);
  }

  // ---- configuring

  private void configure(String expression) throws Exception {
    ClusterConfiguration now =
        owner
            .management()
            .getClusterInfo(GetClusterInfoRequest.getDefaultInstance())
            .getClusterConfiguration();
    ClusterConfiguration wanted = now.toBuilder().setKubernetes(synchronizing(expression)).build();
    assertEquals(
        wanted,
        owner
            .management()
            .configureCluster(
                ConfigureClusterRequest.newBuilder()
                    .setBaseConfig(now)
                    .setNewConfig(wanted)
                    .setUpdateMask(
                        FieldMask.newBuilder().addPaths("kubernetes.node_labels_to_synchronize"))
                    .build())
            .getResultingConfig());
  }

  @Test
  @DisplayName("the cluster's configuration accepts expressions in the syntax of RE2 only")
  void configures() throws Exception {
    for (String expression : List.of("^(?P<owner>[a-z]+)=\\pL+$", "\\Qa.b\\E=.*", MIRRORED)) {
      configure(expression);
    }
    for (String none : List.of("(?=lookahead)", "(a)\\1", "a++")) {
      assertRefused(
          Status.Code.INVALID_ARGUMENT,
          "RE2",
          () -> {
            configure(none);
            return none;
          });
    }
    assertEquals(
        MIRRORED,
        owner
            .management()
            .getClusterInfo(GetClusterInfoRequest.getDefaultInstance())
            .getClusterConfiguration()
            .getKubernetes()
            .getNodeLabelsToSynchronize(0)
            .getRegexp());
  }

  private UpdateNodeLabelsRequest.Builder labels() {
    return UpdateNodeLabelsRequest.newBuilder().setId(id);
  }

  private static UpdateNodeLabelsRequest.Pair pair(String key, String value) {
    return UpdateNodeLabelsRequest.Pair.newBuilder().setKey(key).setValue(value).build();
  }

  @Test
  @DisplayName("labels are set and deleted, and deleting checks the key as setting does")
  void labelsAreChecked() throws Exception {
    owner
        .management()
        .updateNodeLabels(labels().addUpsert(pair("test.monogon.dev/foo", "bar")).build());
    assertEquals(
        1,
        owner
            .nodes(
                "node.labels.pairs.exists(p, p.key == 'test.monogon.dev/foo' && p.value == 'bar')")
            .size());
    for (String key : List.of("", "no_such.dev/x", "-x", "a/b/c")) {
      assertRefused(
          Status.Code.INVALID_ARGUMENT,
          "",
          () -> owner.management().updateNodeLabels(labels().addUpsert(pair(key, "")).build()));
      assertRefused(
          Status.Code.INVALID_ARGUMENT,
          "",
          () -> owner.management().updateNodeLabels(labels().addDelete(key).build()));
    }
    owner.management().updateNodeLabels(labels().addDelete("test.monogon.dev/foo").build());
    assertEquals(
        0, owner.nodes("node.labels.pairs.exists(p, p.key == 'test.monogon.dev/foo')").size());
  }

  @Test
  @DisplayName("the role KubernetesWorker is accepted and recorded, and removed again")
  void rolesAreRecorded() throws Exception {
    owner
        .management()
        .updateNodeRoles(
            UpdateNodeRolesRequest.newBuilder().setId(id).setKubernetesWorker(true).build());
    assertEquals(1, owner.nodes("has(node.roles.kubernetes_worker)").size());
    owner
        .management()
        .updateNodeRoles(
            UpdateNodeRolesRequest.newBuilder().setId(id).setKubernetesWorker(false).build());
    assertEquals(0, owner.nodes("has(node.roles.kubernetes_worker)").size());
    assertRefused(
        Status.Code.FAILED_PRECONDITION,
        "the only ConsensusMember",
        () ->
            owner
                .management()
                .updateNodeRoles(
                    UpdateNodeRolesRequest.newBuilder()
                        .setId(id)
                        .setConsensusMember(false)
                        .build()));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a change with a field of a later version is refused with the field's name, not applied in part")
  void unknownFields() throws Exception {
    assertRefused(
        Status.Code.INVALID_ARGUMENT,
        "field number 77 of UpdateNodeLabelsRequest",
        () ->
            owner
                .management()
                .updateNodeLabels(
                    labels()
                        .addUpsert(pair("half", "done"))
                        .setUnknownFields(
                            UnknownFieldSet.newBuilder()
                                .addField(
                                    77, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
                                .build())
                        .build()));
    assertEquals(0, owner.nodes("node.labels.pairs.exists(p, p.key == 'half')").size());
  }

  // ---- logs

  private static LogsRequest.Builder backlog(int entries) {
    return LogsRequest.newBuilder()
        .setBacklogMode(BacklogMode.BACKLOG_MODE_COUNT)
        .setBacklogCount(entries)
        .addFilters(
            LogFilter.newBuilder().setWithChildren(LogFilter.WithChildren.getDefaultInstance()));
  }

  private static int entries(List<LogsResponse> responses) {
    return responses.stream().mapToInt(LogsResponse::getBacklogEntriesCount).sum();
  }

  @Test
  @DisplayName("a log request with stream mode 0 is answered like one without a stream")
  void streamModeZero() throws Exception {
    assertEquals(3, entries(owner.logs(backlog(3).setStreamModeValue(0).build())));
    assertEquals(
        3, entries(owner.logs(backlog(3).setStreamMode(StreamMode.STREAM_MODE_DISABLE).build())));
  }

  @Test
  @DisplayName("a log request with an empty filter is answered like one without it")
  void emptyFilter() throws Exception {
    assertEquals(
        3, entries(owner.logs(backlog(3).addFilters(LogFilter.getDefaultInstance()).build())));
  }

  @Test
  @DisplayName("the log has the enrolment's entries, and a follower receives new ones")
  void followsLogs() throws Exception {
    assertTrue(
        owner.allLogs().stream().anyMatch(line -> line.endsWith(": Cluster enrolment done.")));
    BlockingClientCall<?, LogsResponse> call =
        owner.node().logs(backlog(1).setStreamMode(StreamMode.STREAM_MODE_UNBUFFERED).build());
    assertEquals(1, call.read().getBacklogEntriesCount());
    owner.management().updateNodeLabels(labels().addUpsert(pair("followed", "yes")).build());
    boolean told = false;
    while (!told) { // the deadline of the call ends this loop if the line never arrives
      LogsResponse next = call.read();
      assertTrue(next != null, "the stream ended");
      told =
          next.getStreamEntriesList().stream()
              .anyMatch(entry -> entry.toString().contains("UpdateNodeLabels"));
    }
    BlockingStreams.end(call, "seen");
  }

  // ---- metrics, and the port of Kubernetes

  private String page(String path) throws Exception {
    HttpResponse<String> answer = owner.get(ReferenceClient.METRICS, path);
    assertEquals(200, answer.statusCode(), () -> path + ": " + answer.body());
    return answer.body();
  }

  @Test
  @DisplayName("/metrics/core shows the node's own metrics, with the reference's name of runnables")
  void metricsOfTheNodeProgram() throws Exception {
    assertContains("monogon_supervisor_dn_state_total{", page("/metrics/core"));
    assertContains("polis_health_status", page("/metrics"));
  }

  @Test
  @DisplayName("/metrics/node shows the machine's figures, or names the missing program")
  void metricsOfTheMachine() throws Exception {
    HttpResponse<String> answer = owner.get(ReferenceClient.METRICS, "/metrics/node");
    if (answer.statusCode() == 200) {
      assertContains("node_uname_info", answer.body());
    } else {
      assertEquals(503, answer.statusCode());
      assertContains("apt-get install prometheus-node-exporter", answer.body());
    }
  }

  @Test
  @DisplayName("/metrics/etcd shows etcd's metrics to a member")
  void metricsOfEtcd() throws Exception {
    assertContains("etcd_server_has_leader 1", page("/metrics/etcd"));
  }

  @Test
  @DisplayName("/discovery lists the nodes of the cluster for Prometheus, with four labels")
  void discovery() throws Exception {
    Await.until(
        SOON,
        "the node to have reported its address",
        () -> owner.get(ReferenceClient.METRICS, "/discovery").statusCode() == 200);
    String page = page("/discovery");
    assertContains("\"targets\":[\"" + address + "\"]", page);
    for (String label :
        List.of(
            "\"__meta_metropolis_node\":\"" + id + "\"",
            "\"__meta_metropolis_role_consensus_member\":\"true\"",
            "\"__meta_metropolis_role_kubernetes_controller\":",
            "\"__meta_metropolis_role_kubernetes_worker\":")) {
      assertContains(label, page);
    }
  }

  @Test
  @DisplayName(
      "metrics are readable at an address outside of loopback, and etcd's only through the node")
  void metricsFromOutside() throws Exception {
    Needs.root("giving this machine another address");
    assumeTrue(
        address.equals(OUTSIDE),
        "reading metrics at an address outside of loopback needs the program ip (iproute2)");
    for (String path : List.of("/metrics/core", "/metrics/etcd", "/metrics", "/discovery")) {
      page(path);
    }
    for (int port : List.of(ETCD_METRICS, ETCD_CLIENTS)) {
      assertThrows(
          IOException.class,
          () -> plainGet(port),
          "etcd's metrics are answered in plain text at port " + port);
    }
    assertThrows(
        IOException.class,
        () -> owner.get(ETCD_CLIENTS, "/metrics"),
        "etcd serves its metrics to a certificate of the cluster");
  }

  private String plainGet(int port) throws IOException {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(address, port), (int) SOON.toMillis());
      socket.setSoTimeout((int) SOON.toMillis());
      socket
          .getOutputStream()
          .write("GET /metrics HTTP/1.0\r\nHost: etcd\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (!answer.contains("etcd_")) {
        throw new IOException("no metrics: " + answer);
      }
      return answer;
    }
  }

  @Test
  @DisplayName(
      "6444 is open from the first start, shows the node's certificate, and answers with a reason")
  void kubernetesPort() throws Exception {
    for (ReferenceClient client : List.of(owner, stranger)) {
      Await.until(
          SOON,
          "the role to have opened its port",
          () -> {
            try (Socket socket = new Socket(address, ReferenceClient.KUBERNETES)) {
              return socket.isConnected();
            } catch (IOException notYet) {
              return false;
            }
          });
      HttpResponse<String> answer = client.get(ReferenceClient.KUBERNETES, "/api/v1/nodes");
      // A stranger does not learn about the server behind the port.
      boolean user = client == owner;
      assertEquals(user ? 503 : 401, answer.statusCode(), answer.body());
      assertContains(user ? "no Kubernetes API server" : "Unauthorized", answer.body());
      X509Certificate shown =
          (X509Certificate) answer.sslSession().orElseThrow().getPeerCertificates()[0];
      assertEquals(1, answer.sslSession().orElseThrow().getPeerCertificates().length);
      shown.verify(ca.getPublicKey());
      assertEquals(
          List.of(List.of(2, id)), List.copyOf(shown.getSubjectAlternativeNames()), "DNS names");
    }
  }

  // ---- our command line with the reference's keys

  /** Returns a key that polisctl made, as a client of the reference system reads its file. */
  private ReferenceKey writtenByOurs() throws Exception {
    Path made = directory.resolve("made");
    Path place = Files.createDirectory(directory.resolve("maker"));
    TestNode.ctlOf(
            place, "params", "make", "--owner=" + made, "--to=" + made.resolve("parameters.pb"))
        .requireSuccess("params make");
    ReferenceKey key = ReferenceKey.read(Files.readString(made.resolve("owner-key.pem")));
    assertArrayEquals(
        key.raw(),
        NodeParameters.parseFrom(Files.readAllBytes(made.resolve("parameters.pb")))
            .getClusterBootstrap()
            .getOwnerPublicKey()
            .toByteArray());
    return key;
  }

  @Test
  @DisplayName(
      "polisctl reads and writes owner keys in both PEM forms, and shows the fingerprint of each")
  void ownerKeysInBothForms() throws Exception {
    String fingerprint =
        HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(ca.getEncoded()));
    for (String pem : List.of(ownerKey.pem(), ownerKey.pkcs8())) {
      Path place = directory.resolve("ctl-" + pem.hashCode());
      Path file = Files.writeString(directory.resolve("key-" + pem.hashCode() + ".pem"), pem);
      Files.createDirectory(place); // from a machine other than the node's
      Finished taken =
          TestNode.ctlOf(
              place,
              "--endpoint=" + address,
              "takeownership",
              "--owner-key=" + file,
              "--accept-ca=" + fingerprint);
      assertEquals(0, taken.code(), taken.all());
      Finished info =
          TestNode.ctlOf(place, "--endpoint=" + address, "cluster", "info", "-o", "json");
      assertContains(fingerprint, info.all());

      Path made = directory.resolve("made-" + pem.hashCode());
      Finished make =
          TestNode.ctlOf(
              place,
              "params",
              "make",
              "--owner=" + made,
              "--owner-key=" + file,
              "--to=" + made.resolve("parameters.pb"));
      assertEquals(0, make.code(), make.all());
      assertArrayEquals(
          ownerKey.raw(),
          NodeParameters.parseFrom(Files.readAllBytes(made.resolve("parameters.pb")))
              .getClusterBootstrap()
              .getOwnerPublicKey()
              .toByteArray());
      assertEquals(
          pem.strip(),
          Files.readString(made.resolve("owner-key.pem")).strip(),
          "the key is kept in the form in which it came");
    }
  }

  // ---- an encrypted volume whose parameters name no recovery key

  @Test
  @Tag("full")
  @DisplayName(
      "an encrypted volume without a recovery key is reported as DEGRADED until one is enrolled, which opens it")
  void enrollsARecoveryKey() throws Exception {
    StorageModesIT.Mode mode = StorageModesIT.Mode.AUTHENTICATED_ENCRYPTED;
    StorageModesIT.requireGround(mode);
    KeyPairGenerator generator = KeyPairGenerator.getInstance("X25519");
    KeyPair recovery = generator.generateKeyPair();
    byte[] encoded = recovery.getPublic().getEncoded();
    try (TestNode encrypted = TestNode.bare(directory.resolve("e"), "127.0.31.4")) {
      give(
          encrypted,
          StorageSecurityPolicy.STORAGE_SECURITY_POLICY_NEEDS_ENCRYPTION_AND_AUTHENTICATION);
      encrypted.up(mode.options());
      assertContains("WARNING: no recovery key opens the data volume", encrypted.said());
      try (ReferenceClient client = ownerOf(encrypted)) {
        Await.until(
            SOON,
            "health to report that no key opens the volume",
            () -> !degraded(client).isEmpty());
        Condition problem = degraded(client).getFirst();
        assertContains("recovery", problem.getReason());
        assertContains("recovery-key enroll", problem.getRemedy());
        Finished down = encrypted.down();
        assertEquals(REFUSED, down.code(), down.all());

        RecoveryGrpc.newBlockingV2Stub(client.channel(ReferenceClient.MANAGEMENT))
            .enroll(
                EnrollRequest.newBuilder()
                    .setRecoveryPublicKey(ByteString.copyFrom(encoded, encoded.length - 32, 32))
                    .build());
        Await.until(SOON, "health to be mended", () -> degraded(client).isEmpty());
      }
      assertEquals(0, encrypted.down().code());
      encrypted.startWith(
          ReferenceKey.pem("PRIVATE KEY", recovery.getPrivate().getEncoded())
              .getBytes(StandardCharsets.US_ASCII),
          "--recovery-key",
          "-");
      encrypted.awaitHome();
      assertFalse(encrypted.said().contains("WARNING"), encrypted.said());
    }
  }

  private ReferenceClient ownerOf(TestNode other) throws Exception {
    try (ReferenceClient first = ReferenceClient.stranger(other.address(), ownerKey)) {
      X509Certificate authority =
          ReferenceClient.certificate(
              CuratorLocalGrpc.newBlockingV2Stub(first.channel(ReferenceClient.CURATOR))
                  .getCACertificate(GetCACertificateRequest.getDefaultInstance())
                  .getIdentityCaCertificate());
      return ReferenceClient.member(
          other.address(),
          ownerKey,
          ReferenceClient.certificate(first.escrow(ownerKey).getEmittedCertificate()),
          authority);
    }
  }

  /** Returns the reason why the node's storage is DEGRADED. */
  private static List<Condition> degraded(ReferenceClient client) throws Exception {
    return HealthGrpc.newBlockingV2Stub(client.channel(ReferenceClient.MANAGEMENT))
        .getHealth(GetHealthRequest.getDefaultInstance())
        .getStatusesList()
        .stream()
        .filter(status -> status.getName().equals("storage"))
        .flatMap(status -> status.getConditionsList().stream())
        .filter(condition -> condition.getLevel() == Level.LEVEL_DEGRADED)
        .toList();
  }
}
