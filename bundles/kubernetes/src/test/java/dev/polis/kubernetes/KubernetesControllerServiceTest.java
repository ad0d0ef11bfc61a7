package dev.polis.kubernetes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.base.boot.StopReason;
import dev.polis.base.config.SettingException;
import dev.polis.base.values.MutableValue;
import dev.polis.files.FileException;
import dev.polis.files.FolderPlacement;
import dev.polis.files.OrganFolder;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.TestThreads;
import dev.polis.handover.OrganState;
import dev.polis.health.HealthKind;
import dev.polis.health.HealthLevel;
import dev.polis.health.HealthStatus;
import dev.polis.health.HealthTable;
import dev.polis.kubernetes.control.ControlParts;
import dev.polis.kubernetes.control.ControlPlane;
import dev.polis.kubernetes.settings.AddressRange;
import dev.polis.kubernetes.settings.AuditSettings;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsTrust;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import java.lang.reflect.Proxy;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the role as the role server does, and calls it over TLS. */
class KubernetesControllerServiceTest {

  private static final Duration SOON = Duration.ofSeconds(10);
  private static final Pattern AT = Pattern.compile("at https://([0-9.]+):(\\d+),");

  @TempDir Path folder;
  private ProcessManager.OpenManager processes;
  private final LogTree logs = LogTree.create();
  private final SupervisionTree tree = SupervisionTree.open(logs);
  private final HealthTable health = HealthTable.open(tree);
  private final CertificateAuthority ca = CertificateAuthority.create("Test cluster");
  private final KeyPair nodeKey = Ed25519.generate();
  private final MutableValue<ClusterStatus> cluster = new MutableValue<>();
  private final MutableValue<NetworkStatus> network =
      new MutableValue<>(new NetworkStatus.Up(InetAddress.ofLiteral("127.0.0.1")));

  @BeforeEach
  void open() {
    processes = ProcessManager.open(folder.resolve("processes"), logs);
  }

  @AfterEach
  void close() {
    tree.close();
    health.close();
    processes.close();
  }

  private KubernetesControllerService service(int port) {
    return new KubernetesControllerService(
        settings(port),
        new ControlParts(cluster, network, this::folder, processes, health, Optional::empty),
        Optional::empty,
        OrganState.NONE);
  }

  private FolderPlacement folder(OrganFolder declared) throws FileException {
    FolderPlacement placed = Root.at(folder).data().organFolder(declared);
    placed.create();
    return placed;
  }

  private static KubernetesSettings settings(int port) {
    return new KubernetesSettings(
        port,
        "",
        6443,
        6445,
        AddressRange.of("10.244.0.0/16"),
        AddressRange.of("10.96.0.0/16"),
        "cluster.local",
        AddressRange.of("198.18.0.0/15"),
        "auto",
        AuditSettings.STANDARD);
  }

  /** Runs the role with credentials, and waits until it listens. */
  private Subtree start() throws Exception {
    join();
    Subtree subtree = tree.organ("roles");
    subtree.run("controller", service(0)::run);
    awaitAnnouncements(1);
    return subtree;
  }

  private X509Certificate join() {
    NodeCredentials credentials =
        new NodeCredentials(
            nodeKey.getPrivate(), ca.issueNode(nodeKey.getPublic()), ca.certificate());
    cluster.set(status(Optional.of(credentials)));
    return credentials.certificate();
  }

  private static ClusterStatus status(Optional<NodeCredentials> credentials) {
    return (ClusterStatus)
        Proxy.newProxyInstance(
            KubernetesControllerServiceTest.class.getClassLoader(),
            new Class<?>[] {ClusterStatus.class},
            (self, method, arguments) ->
                switch (method.getName()) {
                  case "credentials" -> credentials;
                  case "equals" -> self == arguments[0];
                  case "hashCode" -> System.identityHashCode(self);
                  default -> throw new AssertionError("not to be asked: " + method);
                });
  }

  private List<InetSocketAddress> announcements() {
    try (LogReader reader = logs.read(LogQuery.of("root.roles.controller.clients").backlogAll())) {
      return reader.backlog().stream()
          .map(entry -> AT.matcher(((LogPayload.Leveled) entry.payload()).message()))
          .filter(Matcher::find)
          .map(at -> new InetSocketAddress(at.group(1), Integer.parseInt(at.group(2))))
          .toList();
    }
  }

  private void awaitAnnouncements(int count) throws Exception {
    Await.until(
        SOON, "the port to be open, " + count + ". time", () -> announcements().size() >= count);
  }

  private HttpResponse<String> ask(HttpRequest.Builder request) throws Exception {
    try (HttpClient client =
        HttpClient.newBuilder()
            .sslContext(
                TlsContexts.anonymous(TlsTrust.anyNode(TlsTrust.Source.of(ca.certificate()))))
            .connectTimeout(SOON)
            .build()) {
      return client.send(request.timeout(SOON).build(), HttpResponse.BodyHandlers.ofString());
    }
  }

  private HttpRequest.Builder request(String path) {
    return request(announcements().getLast(), path);
  }

  private static HttpRequest.Builder request(InetSocketAddress at, String path) {
    return HttpRequest.newBuilder(
        URI.create(
            "https://%s:%d%s".formatted(at.getAddress().getHostAddress(), at.getPort(), path)));
  }

  private static X509Certificate certificate(HttpResponse<?> response) throws Exception {
    return (X509Certificate) response.sslSession().orElseThrow().getPeerCertificates()[0];
  }

  @Test
  @DisplayName("every request is answered with 503 and a Kubernetes Status that says why")
  void statusInWords() throws Exception {
    start();
    for (HttpRequest.Builder request :
        List.of(
            request("/").GET(),
            request("/api/v1/nodes").GET(),
            request("/api/v1/namespaces/default/pods")
                .POST(HttpRequest.BodyPublishers.ofString("x".repeat(100_000))),
            request("/version").method("PATCH", HttpRequest.BodyPublishers.noBody()))) {
      HttpResponse<String> answer = ask(request);
      assertEquals(503, answer.statusCode());
      assertEquals("application/json", answer.headers().firstValue("Content-Type").orElse(""));
      assertTrue(
          answer.headers().firstValue("Retry-After").isEmpty(), "clients must not repeat it");
      JsonObject status = JsonParser.parseString(answer.body()).getAsJsonObject();
      assertEquals("Status", status.get("kind").getAsString());
      assertEquals("v1", status.get("apiVersion").getAsString());
      assertEquals("Failure", status.get("status").getAsString());
      assertEquals("ServiceUnavailable", status.get("reason").getAsString());
      assertEquals(503, status.get("code").getAsInt());
      assertTrue(
          status.get("message").getAsString().contains("no Kubernetes API server"), answer.body());
    }
    HttpResponse<String> head =
        ask(request("/").method("HEAD", HttpRequest.BodyPublishers.noBody()));
    assertEquals(503, head.statusCode());
    assertEquals("", head.body());
  }

  @Test
  @DisplayName("the port shows the node's certificate, whose only DNS name is the node's id")
  void showsTheCertificate() throws Exception {
    start();
    X509Certificate shown = certificate(ask(request("/")));
    Collection<List<?>> names = shown.getSubjectAlternativeNames();
    assertEquals(1, names.size());
    assertEquals(
        List.of(2, NodeId.of(nodeKey.getPublic()).text()), names.iterator().next(), "a DNS name");
  }

  @Test
  @DisplayName("a renewed certificate is shown from the next connection on")
  void renewal() throws Exception {
    start();
    X509Certificate renewed = join();
    assertEquals(renewed, certificate(ask(request("/"))));
    assertEquals(1, announcements().size(), "nothing was opened anew");
  }

  @Test
  @DisplayName("the port opens only after the node is a member")
  void waitsForCredentials() throws Exception {
    cluster.set(status(Optional.empty()));
    tree.organ("roles").run("controller", service(0)::run);
    Await.until(
        SOON,
        "the role to run",
        () ->
            tree.runnables().peek().orElseThrow().stream()
                .anyMatch(each -> each.dn().equals("root.roles.controller")));
    assertEquals(List.of(), announcements());
    join();
    awaitAnnouncements(1);
    assertEquals(503, ask(request("/")).statusCode());
  }

  @Test
  @DisplayName(
      "a request waits while the code of the role is replaced, and the next run answers it")
  void theNextRunAnswers() throws Exception {
    Subtree role = start();
    InetSocketAddress here = announcements().getLast();
    role.close(StopReason.CODE_REPLACED);
    try (ExecutorService caller = new TestThreads()) {
      Future<HttpResponse<String>> answer = caller.submit(() -> ask(request("/")));
      tree.organ("roles").run("controller", service(here.getPort())::run);
      assertEquals(503, answer.get(SOON.toSeconds(), TimeUnit.SECONDS).statusCode());
    }
    assertEquals(here, announcements().getLast());
  }

  @Test
  @DisplayName("a role that is taken away closes the port")
  void closesThePort() throws Exception {
    Subtree role = start();
    role.close(StopReason.ROLE_REMOVED);
    assertThrows(ConnectException.class, () -> ask(request("/")));
  }

  @Test
  @DisplayName(
      "when the node's address changes, the port is open at the new one and not at the old")
  void followsTheAddress() throws Exception {
    start();
    InetSocketAddress old = announcements().getLast();
    network.set(new NetworkStatus.Up(InetAddress.ofLiteral("127.0.0.2")));
    awaitAnnouncements(2);
    assertEquals("127.0.0.2", announcements().getLast().getAddress().getHostAddress());
    assertEquals(503, ask(request("/")).statusCode());
    assertThrows(ConnectException.class, () -> ask(request(old, "/")));
  }

  @Test
  @DisplayName("a port that is taken is named, with the remedy")
  void takenPort() throws Exception {
    join();
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      tree.organ("roles").run("controller", service(taken.getLocalPort())::run);
      String wanted = "127.0.0.1:" + taken.getLocalPort();
      Await.until(
          SOON,
          "the failure to be reported",
          () ->
              tree.runnables().peek().orElseThrow().stream()
                  .anyMatch(
                      each ->
                          each.lastError().contains(wanted)
                              && each.lastError().contains("dev.polis.kubernetes.port")));
    }
  }

  @Test
  @DisplayName("while the role runs it is DEGRADED, since there is no API server; its organ is UP")
  void health() throws Exception {
    Subtree subtree = start();
    assertEquals(HealthLevel.UP, status("kubernetes").level());

    HealthStatus role = status(ControlPlane.ROLE);
    assertEquals(HealthKind.ROLE, role.kind());
    assertEquals(HealthLevel.DEGRADED, role.level());
    assertEquals(KubernetesControllerService.NO_API_SERVER, role.code());
    assertTrue(role.reason().contains("no Kubernetes API server"), role.reason());
    assertTrue(role.remedy().contains("node role remove NODE KubernetesController"), role.remedy());

    subtree.close(StopReason.ROLE_REMOVED);
    Await.value(health.all(), all -> all.size() == 1, SOON, "the health of the role to go");
  }

  private HealthStatus status(String name) throws Exception {
    return Await.value(
            health.all(),
            all -> all.stream().anyMatch(each -> each.name().equals(name)),
            SOON,
            "the health of " + name)
        .stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  @Test
  @DisplayName("an invalid port is refused with the setting's name")
  void portOutOfRange() {
    assertEquals(
        "dev.polis.kubernetes.port is \"70000\", which is not within 0 to 65535",
        assertThrows(SettingException.class, () -> settings(70_000)).getMessage());
  }
}
