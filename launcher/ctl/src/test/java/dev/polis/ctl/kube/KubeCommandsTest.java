package dev.polis.ctl.kube;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.ByteString;
import com.sun.net.httpserver.HttpExchange;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.ctl.CtlRun;
import dev.polis.ctl.session.Session;
import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.rpc.HttpsListener;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcSettings;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.api.EscrowRequest;
import dev.polis.wire.api.EscrowResponse;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.debug.DebugGrpc;
import dev.polis.wire.debug.ListImagesRequest;
import dev.polis.wire.debug.ListImagesResponse;
import dev.polis.wire.health.GetHealthRequest;
import dev.polis.wire.health.GetHealthResponse;
import dev.polis.wire.health.HealthGrpc;
import dev.polis.wire.health.Kind;
import dev.polis.wire.health.Level;
import dev.polis.wire.health.Status;
import dev.polis.wire.images.LoadRequest;
import dev.polis.wire.images.LoadResponse;
import dev.polis.wire.images.NodeImagesGrpc;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyPair;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the commands of Kubernetes against real listeners, behind which the test answers. */
class KubeCommandsTest {

  /**
   * An address of this test's own, derived from its process id, since the ports of a node are
   * fixed.
   */
  private static final String ADDRESS =
      "127.79.%d.%d"
          .formatted(
              ProcessHandle.current().pid() / 250 % 250, 1 + ProcessHandle.current().pid() % 250);

  private static final CertificateAuthority CLUSTER = CertificateAuthority.create("this cluster");
  private static final KeyPair NODE_KEY = Ed25519.generate();
  private static final String ID = NodeId.of(NODE_KEY.getPublic()).text();
  private static final String LEASES =
      "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/";
  private static final AtomicReference<List<String>> ROLES = new AtomicReference<>();
  private static final AtomicReference<Map<String, String>> ANSWERS = new AtomicReference<>();
  private static final SortedSet<String> IMAGES = new ConcurrentSkipListSet<>();
  private static LocalRpcHost host;
  private static HttpsListener kubernetes;

  @TempDir Path state;

  @BeforeAll
  static void listen() throws IOException {
    LogTree logs = LogTree.create();
    host =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    listener(RpcHost.CURATOR, Session.CURATOR_PORT, true),
                    listener(RpcHost.MANAGEMENT, Session.MANAGEMENT_PORT, true),
                    listener(RpcHost.DEBUG, Session.DEBUG_PORT, false)),
                RpcSettings.Limits.DEFAULT),
            logs);
    NodeCredentials node =
        new NodeCredentials(
            NODE_KEY.getPrivate(), CLUSTER.issueNode(NODE_KEY.getPublic()), CLUSTER.certificate());
    host.identify(node);
    host.serve(RpcHost.CURATOR, new Records());
    host.serve(RpcHost.CURATOR, new Ownership());
    host.serve(RpcHost.MANAGEMENT, new Health());
    host.serve(RpcHost.DEBUG, new Images());
    host.serve(RpcHost.MANAGEMENT, new ImageStore());
    kubernetes =
        HttpsListener.open(
            "dev.polis.test",
            new InetSocketAddress(ADDRESS, KubeEndpoint.PORT),
            TlsContexts.context(
                TlsKeys.fixed(node.tls()),
                TlsTrust.member(TlsTrust.Source.of(CLUSTER.certificate()))),
            TlsContexts.serverParameters(),
            KubeCommandsTest::answer,
            logs.log("kubernetes"));
  }

  private static RpcSettings.Listener listener(String name, int port, boolean tls) {
    return new RpcSettings.Listener(name, new InetSocketAddress(ADDRESS, port), tls);
  }

  private static void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      String found = ANSWERS.get().get(exchange.getRequestURI().getPath());
      byte[] body =
          (found == null ? "{\"message\": \"not now\"}" : found).getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(found == null ? 503 : 200, body.length);
      exchange.getResponseBody().write(body);
    }
  }

  @AfterAll
  static void close() {
    kubernetes.close();
    host.close();
  }

  private static final class Records extends ManagementGrpc.ManagementImplBase {
    @Override
    public void getNodes(GetNodesRequest request, StreamObserver<Node> caller) {
      SortedSet<RoleName> roles =
          ROLES.get().stream().map(RoleName::new).collect(Collectors.toCollection(TreeSet::new));
      caller.onNext(
          Node.newBuilder()
              .setId(ID)
              .setState(NodeState.NODE_STATE_UP)
              .setRoles(RoleRecord.of(roles))
              .setStatus(NodeStatus.newBuilder().setExternalAddress(ADDRESS))
              .build());
      caller.onCompleted();
    }
  }

  private static final class Ownership extends AAAGrpc.AAAImplBase {
    @Override
    public StreamObserver<EscrowRequest> escrow(StreamObserver<EscrowResponse> caller) {
      return new StreamObserver<>() {
        @Override
        public void onNext(EscrowRequest request) {
          caller.onNext(
              EscrowResponse.newBuilder()
                  .setEmittedCertificate(
                      ByteString.copyFrom(
                          Pem.der(
                              CLUSTER.issueUser(
                                  "owner",
                                  Ed25519.publicKey(
                                      request.getParameters().getPublicKey().toByteArray())))))
                  .build());
          caller.onCompleted();
        }

        @Override
        public void onError(Throwable gone) {}

        @Override
        public void onCompleted() {}
      };
    }
  }

  private static final class Health extends HealthGrpc.HealthImplBase {
    @Override
    public void getHealth(GetHealthRequest request, StreamObserver<GetHealthResponse> caller) {
      caller.onNext(
          GetHealthResponse.newBuilder()
              .addStatuses(
                  Status.newBuilder()
                      .setName(KubeEndpoint.CONTROLLER)
                      .setKind(Kind.KIND_ROLE)
                      .setLevel(Level.LEVEL_UP))
              .addStatuses(
                  Status.newBuilder()
                      .setName(KubeEndpoint.WORKER)
                      .setKind(Kind.KIND_ROLE)
                      .setLevel(Level.LEVEL_WAITING)
                      .setReason("it waits for containerd")
                      .setRemedy("see its log"))
              .addStatuses(
                  Status.newBuilder()
                      .setName("containers")
                      .setKind(Kind.KIND_ORGAN)
                      .setLevel(Level.LEVEL_WAITING)
                      .setReason("containerd has not answered for 5 s"))
              .build());
      caller.onCompleted();
    }
  }

  private static final class Images extends DebugGrpc.DebugImplBase {
    @Override
    public void listImages(ListImagesRequest request, StreamObserver<ListImagesResponse> caller) {
      caller.onNext(ListImagesResponse.newBuilder().addAllNames(IMAGES).build());
      caller.onCompleted();
    }
  }

  /** Takes each archive for one image, named after the archive's size. */
  private static final class ImageStore extends NodeImagesGrpc.NodeImagesImplBase {
    @Override
    public StreamObserver<LoadRequest> load(StreamObserver<LoadResponse> caller) {
      return new StreamObserver<>() {
        private long size;

        @Override
        public void onNext(LoadRequest part) {
          size += part.getDataPart().size();
        }

        @Override
        public void onError(Throwable gone) {}

        @Override
        public void onCompleted() {
          if (size == 0) {
            caller.onError(
                io.grpc.Status.FAILED_PRECONDITION
                    .withDescription("the archive is empty")
                    .asRuntimeException());
            return;
          }
          IMAGES.add("k8s.local/bytes:" + size);
          caller.onNext(LoadResponse.newBuilder().addAllNames(IMAGES).build());
          caller.onCompleted();
        }
      };
    }
  }

  @BeforeEach
  void owner() throws Exception {
    IMAGES.clear();
    ROLES.set(List.of(KubeEndpoint.CONTROLLER, KubeEndpoint.WORKER));
    ANSWERS.set(
        Map.of(
            "/version",
            "{\"gitVersion\": \"v1.36.3\"}",
            "/api/v1/nodes",
            nodes(),
            LEASES + "kube-controller-manager",
            lease("one", Instant.now()),
            LEASES + "kube-scheduler",
            lease("one", Instant.now().minusSeconds(60))));
    own(CertificateTemplate.USER_LIFETIME);
  }

  private static String lease(String holder, Instant renewed) {
    return "{\"spec\": {\"holderIdentity\": \"%s\", \"renewTime\": \"%s\"}}"
        .formatted(holder, renewed);
  }

  private static String nodes() {
    return """
        {"items": [{"metadata": {"name": "%s"}, "status": {
          "nodeInfo": {"kubeletVersion": "v1.36.3", "containerRuntimeVersion": "containerd://2.4.2"},
          "conditions": [
            {"type": "Ready", "status": "True", "message": "kubelet is posting ready status"},
            {"type": "DiskPressure", "status": "True", "message": "the disk is full"},
            {"type": "PIDPressure", "status": "False", "message": "fine"}]}}]}"""
        .formatted(ID);
  }

  private void own(Duration lifetime) throws Exception {
    KeyPair pair = Ed25519.generate();
    Path owner = Files.createDirectories(state.resolve("owner"));
    Files.writeString(owner.resolve("owner-key.pem"), Pem.encode(pair.getPrivate()));
    Files.writeString(
        owner.resolve("owner.pem"),
        Pem.encode(
            CLUSTER.issue(
                CertificateTemplate.user("owner").withLifetime(lifetime), pair.getPublic())));
    Files.writeString(owner.resolve("ca.pem"), Pem.encode(CLUSTER.certificate()));
  }

  private CtlRun run(String... command) {
    return CtlRun.of(
        Stream.concat(
                Stream.of("--state", state.toString(), "--endpoint", ADDRESS), Stream.of(command))
            .toArray(String[]::new));
  }

  @Test
  @DisplayName("kubeconfig adds the cluster to the named file, which only this user may read")
  void kubeconfig() throws Exception {
    Path file = state.resolve("new/folder/config");
    CtlRun run = run("kubeconfig", "--to", file.toString());
    assertEquals(0, run.code(), run.err());
    assertEquals("", run.err());
    String text = Files.readString(file);
    assertTrue(text.contains("server: https://" + ADDRESS + ":6444"), text);
    assertTrue(text.contains("tls-server-name: " + ID), text);
    assertTrue(text.contains("current-context: polis"), text);
    assertTrue(text.contains(state.toString()), "the plugin finds the owner's files: " + text);
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
    assertTrue(run.out().contains("kubectl --context=polis get nodes"), run.out());
  }

  @Test
  @DisplayName(
      "kubeconfig to - prints the file and writes none; a controller that does not answer is reported")
  void kubeconfigIsPrinted() throws Exception {
    ANSWERS.set(Map.of());
    CtlRun run = run("kubeconfig", "--to", "-", "--name", "mine");
    assertEquals(0, run.code(), run.err());
    assertTrue(run.out().startsWith("apiVersion: v1"), run.out());
    assertTrue(run.out().contains("current-context: mine"), run.out());
    assertTrue(run.err().contains("no controller answers yet"), run.err());
    // A first handshake on a busy machine may take longer than the limit for a controller.
    Await.until(
        "a quotation of the controller's answer",
        () -> run("kubeconfig", "--to", "-").err().contains("not now"));
  }

  @Test
  @DisplayName("without a controller nothing is set up, and the remedy is named")
  void noController() {
    ROLES.set(List.of());
    for (String[] command : List.of(new String[] {"kubeconfig"}, new String[] {"kube", "status"})) {
      CtlRun run = run(command);
      assertEquals(4, run.code());
      assertTrue(run.err().contains("node role add NODE KubernetesController"), run.err());
    }
  }

  @Test
  @DisplayName("a file that is no valid kubeconfig stays unchanged")
  void damagedKubeconfig() throws Exception {
    Path file = Files.writeString(state.resolve("config"), "clusters: {");
    CtlRun run = run("kubeconfig", "--to", file.toString());
    assertEquals(1, run.code());
    assertTrue(run.err().contains(file + " is not a kubeconfig"), run.err());
    assertEquals("clusters: {", Files.readString(file));
  }

  @Test
  @DisplayName("kubectl gets the owner's certificate and key")
  void credentials() throws Exception {
    CtlRun run = run("kubernetes-credentials");
    assertEquals(0, run.code(), run.err());
    JsonObject document = JsonParser.parseString(run.out()).getAsJsonObject();
    assertEquals("client.authentication.k8s.io/v1", document.get("apiVersion").getAsString());
    assertEquals("ExecCredential", document.get("kind").getAsString());
    JsonObject status = document.getAsJsonObject("status");
    assertEquals(
        Files.readString(state.resolve("owner/owner.pem")),
        status.get("clientCertificateData").getAsString());
    assertTrue(status.get("clientKeyData").getAsString().startsWith("-----BEGIN PRIVATE KEY-----"));
    assertTrue(
        Instant.parse(status.get("expirationTimestamp").getAsString()).isAfter(Instant.now()));
  }

  @Test
  @DisplayName("a certificate near its end is renewed before kubectl gets it")
  void credentialsAreRenewed() throws Exception {
    own(Duration.ofSeconds(5));
    String old = Files.readString(state.resolve("owner/owner.pem"));
    CtlRun run = run("kubernetes-credentials");
    assertEquals(0, run.code(), run.err());
    String now = Files.readString(state.resolve("owner/owner.pem"));
    assertTrue(!old.equals(now), "a new certificate is kept");
    assertEquals(
        now,
        JsonParser.parseString(run.out())
            .getAsJsonObject()
            .getAsJsonObject("status")
            .get("clientCertificateData")
            .getAsString());
  }

  @Test
  @DisplayName("kube status shows controllers, workers, components, faults and remedies")
  void status() {
    CtlRun run = run("kube", "status");
    assertEquals(5, run.code(), "the worker waits, and the scheduler's lease is over");
    assertTrue(row(run, "controller", "KubernetesController", "UP", "v1.36.3"), run.out());
    assertTrue(
        row(run, "worker", "KubernetesWorker", "it waits for containerd; to do: see its log"),
        run.out());
    assertTrue(row(run, "kube-controller-manager", "UP"), run.out());
    assertTrue(row(run, "kube-scheduler", "DOWN", "one led last"), run.out());
    assertTrue(row(run, "kubelet", ID, "UP", "v1.36.3"), run.out());
    assertTrue(
        row(run, "container runtime", "WAITING", "containerd://2.4.2", "has not answered"),
        run.out());
    assertTrue(row(run, "condition", "DiskPressure", "the disk is full"), run.out());
    assertTrue(!run.out().contains("PIDPressure"), "healthy parts get no line");
    JsonObject first =
        JsonParser.parseString(run("-o", "json", "kube", "status").out())
            .getAsJsonArray()
            .get(0)
            .getAsJsonObject();
    assertEquals(ID, first.get("node").getAsString());
  }

  private static boolean row(CtlRun run, String... words) {
    return run.out().lines().anyMatch(line -> List.of(words).stream().allMatch(line::contains));
  }

  @Test
  @DisplayName(
      "kube status without an answer of Kubernetes reports that, and the nodes' own reports")
  void statusWithoutAnswer() {
    ANSWERS.set(Map.of());
    CtlRun run = run("kube", "status");
    assertEquals(5, run.code());
    assertTrue(row(run, "kube-apiserver", "DOWN", "not now"), run.out());
    assertTrue(row(run, "controller", "UP"), run.out());
  }

  @Test
  @DisplayName("images are loaded from a file and listed; a refusal is quoted")
  void images() throws Exception {
    Path archive = Files.write(state.resolve("image.tar"), new byte[3_000_000]);
    CtlRun loaded = run("image", "load", archive.toString());
    assertEquals(0, loaded.code(), loaded.err());
    assertTrue(loaded.out().contains("k8s.local/bytes:3000000"), loaded.out());
    assertTrue(run("image", "list").out().contains("k8s.local/bytes:3000000"));
    CtlRun refused = run("image", "load", Files.createFile(state.resolve("empty")).toString());
    assertEquals(1, refused.code());
    assertTrue(refused.err().contains("the archive is empty"), refused.err());
    assertEquals(4, run("image", "load", state.resolve("none").toString()).code());
  }
}
