package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.rpc.RpcClients;
import dev.polis.wire.api.GetDebugKubeconfigRequest;
import dev.polis.wire.api.NodeDebugServiceGrpc;
import dev.polis.wire.debug.DebugGrpc;
import dev.polis.wire.debug.GetComponentLogsRequest;
import io.grpc.ManagedChannel;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/** Uses the API server of a real node with a real kubectl, as the owner and as a developer. */
@Tag("full")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class KubernetesAccessIT {

  private static final String ADDRESS = "127.0.45.1";
  private static final String ROLE = "KubernetesController";
  private static final String BUNDLE = "dev.polis.kubernetes";

  /** An API server takes up to a minute on a shared machine. */
  private static final Duration PATIENCE = Duration.ofSeconds(180);

  @TempDir static Path directory;
  private static TestNode node;
  private static Path kubectl;

  @BeforeAll
  static void start() throws Exception {
    String programs = System.getenv().getOrDefault("POLIS_KUBERNETES", "");
    kubectl = Path.of(programs, "bin", "kubectl");
    Assumptions.assumeTrue(
        Files.isExecutable(kubectl),
        "a control plane needs Kubernetes' programs; POLIS_KUBERNETES names their folder");
    node = TestNode.prepared(directory.resolve("n"), ADDRESS);
    node.up(
        "--set",
        "dev.polis.kubernetes.programs=" + programs,
        "--set",
        "dev.polis.debug.kubeconfig=true");
    node.ctlProgram("takeownership").requireSuccess("takeownership");
    node.ctl("node", "role", "add", node.id(), ROLE).requireSuccess("role add");
  }

  @AfterAll
  static void stop() {
    if (node != null) {
      node.close();
    }
  }

  private static Path config() {
    return directory.resolve("kubeconfig");
  }

  private static List<String> command(Path config, String... arguments) {
    return Stream.concat(
            Stream.of(kubectl.toString(), "--kubeconfig", config.toString()), Stream.of(arguments))
        .toList();
  }

  private static Finished kubectl(String... arguments) throws Exception {
    return Finished.of(command(config(), arguments), Map.of(), PATIENCE);
  }

  @Test
  @Order(1)
  @DisplayName("polisctl kubeconfig sets up kubectl with the owner's full rights")
  void kubeconfig() throws Exception {
    node.ctl("kubeconfig", "--to", config().toString()).requireSuccess("kubeconfig");
    Await.until(
        PATIENCE, "the API server to answer", () -> kubectl("get", "namespaces").code() == 0);
    String who = kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}").out();
    assertEquals("owner", who);
    Await.until(
        PATIENCE,
        "the owner's rights",
        () -> kubectl("auth", "can-i", "*", "*", "-A").out().strip().equals("yes"));
    kubectl("create", "namespace", "access").requireSuccess("create");
    String large = "x".repeat(500_000);
    Path file = Files.writeString(directory.resolve("large"), large);
    kubectl("-n", "access", "create", "configmap", "large", "--from-file=" + file)
        .requireSuccess("create a large object");
    assertEquals(
        large,
        kubectl("-n", "access", "get", "configmap", "large", "-o", "jsonpath={.data.large}").out());
  }

  @Test
  @Order(2)
  @DisplayName("kube status shows the controller and its components with their versions")
  void status() throws Exception {
    Await.until(PATIENCE, "all components to be UP", () -> node.ctl("kube", "status").code() == 0);
    String shown = node.ctl("kube", "status").out();
    assertTrue(shown.contains("kube-controller-manager"), shown);
    assertTrue(shown.contains("kube-scheduler"), shown);
    assertTrue(shown.contains("v1."), shown);
  }

  @Test
  @Order(3)
  @DisplayName("a watch continues while the code of the role is stopped and started")
  void watchOutlivesTheCode() throws Exception {
    Process watch =
        new ProcessBuilder(
                command(config(), "get", "configmaps", "-n", "access", "--watch", "-o", "name"))
            .redirectErrorStream(true)
            .start();
    try {
      ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();
      Thread reader =
          Thread.startVirtualThread(
              () ->
                  new BufferedReader(
                          new InputStreamReader(watch.getInputStream(), StandardCharsets.UTF_8))
                      .lines()
                      .forEach(seen::add));
      Await.until(PATIENCE, "the watch to begin", () -> seen.contains("configmap/large"));
      node.ctl("bundle", "stop", BUNDLE).requireSuccess("stop");
      node.ctl("bundle", "start", BUNDLE).requireSuccess("start");
      Await.until(
          PATIENCE,
          "an object to be made after it",
          () -> kubectl("-n", "access", "create", "configmap", "after").all().contains("after"));
      Await.until(PATIENCE, "the watch to see it", () -> seen.contains("configmap/after"));
      assertTrue(watch.isAlive());
      assertTrue(reader.isAlive());
    } finally {
      watch.destroyForcibly().waitFor();
    }
  }

  @Test
  @Order(4)
  @DisplayName("a developer gets credentials of any user and groups, with the rights of those")
  void debugKubeconfig() throws Exception {
    Path jane = directory.resolve("jane");
    Files.writeString(jane, issued("jane", List.of("readers")));
    Finished who =
        Finished.of(
            command(jane, "auth", "whoami", "-o", "jsonpath={.status.userInfo}"),
            Map.of(),
            PATIENCE);
    assertTrue(who.out().contains("\"username\":\"jane\""), who.all());
    assertTrue(who.out().contains("\"readers\""), who.all());
    assertEquals(
        "no",
        Finished.of(command(jane, "auth", "can-i", "get", "secrets"), Map.of(), PATIENCE)
            .out()
            .strip());
    Finished refused = Finished.of(command(jane, "get", "secrets"), Map.of(), PATIENCE);
    assertTrue(refused.err().contains("forbidden"), refused.all());
    Path root = directory.resolve("root");
    Files.writeString(root, issued("root", List.of("system:masters")));
    Finished.of(command(root, "get", "secrets", "-A"), Map.of(), PATIENCE).requireSuccess("root");
  }

  private static String issued(String user, List<String> groups) throws Exception {
    ManagedChannel channel = RpcClients.plaintext(new InetSocketAddress(ADDRESS, 7837));
    try {
      return NodeDebugServiceGrpc.newBlockingStub(channel)
          .getDebugKubeconfig(
              GetDebugKubeconfigRequest.newBuilder().setId(user).addAllGroups(groups).build())
          .getDebugKubeconfig();
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  @Order(5)
  @DisplayName("the logs of the programs have the names kube/PROGRAM")
  void componentLogs() throws Exception {
    ManagedChannel channel = RpcClients.plaintext(new InetSocketAddress(ADDRESS, 7837));
    try {
      for (String program : List.of("apiserver", "controller-manager", "scheduler")) {
        assertTrue(
            DebugGrpc.newBlockingStub(channel)
                    .getComponentLogs(
                        GetComponentLogsRequest.newBuilder()
                            .addAllComponentPath(List.of("kube", program))
                            .setTailLines(5)
                            .build())
                    .getLinesCount()
                > 0,
            program);
      }
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  @Order(6)
  @DisplayName("polisctl audit --kubernetes shows the callers and requests of the API server")
  void audit() throws Exception {
    Finished shown = node.ctl("audit", "--kubernetes");
    shown.requireSuccess("audit --kubernetes");
    assertTrue(
        shown.out().lines().anyMatch(each -> each.contains(" owner create /api/v1/namespaces")),
        shown.all());
    assertTrue(
        shown
            .out()
            .lines()
            .anyMatch(each -> each.contains(" jane list ") && each.contains(" 403 ")),
        shown.all());
    assertEquals(2, node.ctl("audit", "--kubernetes", "--last", "2").out().lines().count());
    String json = node.ctl("audit", "--kubernetes", "--last", "1", "-o", "json").out();
    assertTrue(json.contains("\"kind\":\"Event\""), json);
  }

  @Test
  @Order(7)
  @DisplayName("an invalid policy of the audit log is refused, and the API server continues")
  void auditPolicy() throws Exception {
    List<ProcessHandle> before = node.children("kube-apiserver");
    Finished refused =
        node.ctl(
            "config",
            "set",
            "dev.polis.kubernetes.audit.policy={\"rules\": [{\"level\": \"metadata\"}]}");
    assertTrue(refused.code() != 0, refused.all());
    assertTrue(refused.all().contains("did you mean \"Metadata\"?"), refused.all());
    assertEquals(before, node.children("kube-apiserver"));
    kubectl("get", "namespaces").requireSuccess("get");
  }
}
