package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.rpc.RpcClients;
import dev.polis.wire.api.GetDebugKubeconfigRequest;
import dev.polis.wire.api.NodeDebugServiceGrpc;
import dev.polis.wire.debug.DebugGrpc;
import dev.polis.wire.debug.GetComponentLogsRequest;
import io.grpc.ManagedChannel;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
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

/**
 * Runs a node with real programs and the role KubernetesController, which the first node of a
 * cluster has from its beginning, and uses its API server with a real kubectl, as the owner and as
 * a developer. {@code KubernetesChildrenIT} kills the programs.
 */
@Tag("full")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class KubernetesControllerIT {

  private static final String ADDRESS = "127.0.64.1";

  /**
   * The host address for 127.0.64.1: its number is 64 × 256 + 1, and each number has two addresses.
   */
  private static final InetAddress HOST_ADDRESS = InetAddress.ofLiteral("198.18.128.2");

  private static final String ROLE = "KubernetesController";
  private static final String BUNDLE = "dev.polis.kubernetes";
  private static final int DEBUG_PORT = 7837;

  private static final List<String> PROGRAMS =
      List.of("kube-apiserver", "kube-controller-manager", "kube-scheduler");

  /** An API server takes up to a minute on a shared machine. */
  private static final Duration PATIENCE = Duration.ofSeconds(180);

  @TempDir static Path directory;
  private static TestNode node;
  private static Path kubectl;
  private static String[] options;

  @BeforeAll
  static void create() throws Exception {
    String programs = System.getenv().getOrDefault("POLIS_KUBERNETES", "");
    kubectl = Path.of(programs, "bin", "kubectl");
    Assumptions.assumeTrue(
        Files.isExecutable(kubectl),
        "a control plane needs Kubernetes' programs; POLIS_KUBERNETES names their folder");
    options =
        new String[] {
          "--set",
          "dev.polis.kubernetes.programs=" + programs,
          "--set",
          "dev.polis.debug.kubeconfig=true"
        };
    node = TestNode.prepared(directory.resolve("n"), ADDRESS);
    node.up(options);
    node.ctlProgram("takeownership").requireSuccess("takeownership");
  }

  @AfterAll
  static void sweep() {
    if (node != null) {
      node.close();
    }
  }

  private static Map<String, Long> pids() {
    Map<String, Long> pids = new TreeMap<>();
    for (String program : PROGRAMS) {
      node.children(program).forEach(child -> pids.put(program, child.pid()));
    }
    return pids;
  }

  /**
   * Waits for the programs, too, since the list shows the node's last report, perhaps from before a
   * program ended.
   */
  private static void awaitRunning() throws Exception {
    Await.until(
        PATIENCE,
        "the role and its programs to run",
        () ->
            node.json("node", "list").toString().matches(".*rolesRunning\":[^]]*" + ROLE + ".*")
                && isUp()
                && pids().size() == PROGRAMS.size(),
        () -> "programs: " + pids());
  }

  /** Returns whether the role is UP; a role that the node does not know yet has no level. */
  private static boolean isUp() throws Exception {
    JsonObject explained = node.json("explain", ROLE).getAsJsonObject();
    return explained.has("level") && explained.get("level").getAsString().equals("UP");
  }

  /** Returns whether the volume is on FUSE, where the API server, which writes, must stay root. */
  private static boolean onFuse() {
    return StorageModesIT.Mode.of(node.state()) == StorageModesIT.Mode.AUTHENTICATED_ENCRYPTED;
  }

  private static String user(String program) throws IOException {
    return TestNode.users(pids().get(program)).getFirst();
  }

  private static boolean hasHostAddress() throws IOException {
    return NetworkInterface.getByInetAddress(HOST_ADDRESS) != null;
  }

  @Test
  @Order(1)
  @DisplayName("the role runs, and explain says that it is UP")
  void runs() throws Exception {
    awaitRunning();
    String explained = node.ctl("explain", ROLE).out();
    assertTrue(explained.contains("UP"), explained);
    if (System.getProperty("user.name").equals("root")) {
      assertTrue(hasHostAddress());
      assertEquals(
          List.of(onFuse() ? "0" : "60903", "60904", "60905"),
          List.of(user("kube-apiserver"), user("kube-controller-manager"), user("kube-scheduler")));
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
  @Order(2)
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
  @Order(3)
  @DisplayName("kube status shows the controller and its components with their versions")
  void status() throws Exception {
    Await.until(PATIENCE, "all components to be UP", () -> node.ctl("kube", "status").code() == 0);
    String shown = node.ctl("kube", "status").out();
    assertTrue(shown.contains("kube-controller-manager"), shown);
    assertTrue(shown.contains("kube-scheduler"), shown);
    assertTrue(shown.contains("v1."), shown);
  }

  @Test
  @Order(4)
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
  @Order(5)
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
    ManagedChannel channel = RpcClients.plaintext(new InetSocketAddress(ADDRESS, DEBUG_PORT));
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
  @Order(6)
  @DisplayName("the logs of the programs have the names kube/PROGRAM")
  void componentLogs() throws Exception {
    ManagedChannel channel = RpcClients.plaintext(new InetSocketAddress(ADDRESS, DEBUG_PORT));
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
  @Order(7)
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
  @Order(8)
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

  @Test
  @Order(9)
  @DisplayName("kill -9 of the JVM: the control plane keeps its PIDs")
  void jvmKilled() throws Exception {
    Map<String, Long> before = pids();
    node.killJvm();
    assertEquals(before, pids());
    node.up(options);
    awaitRunning();
    assertEquals(before, pids());
  }

  @Test
  @Order(10)
  @DisplayName("a removed role leaves no program, no file and no address, and can be added again")
  void removed() throws Exception {
    node.ctl("node", "role", "remove", node.id(), ROLE).requireSuccess("role remove");
    Await.until(PATIENCE, "the programs to end", () -> pids().isEmpty());
    Await.until(PATIENCE, "the host address to go", () -> !hasHostAddress());
    Path files = node.state().resolve("data/kubernetes-controller");
    Await.until(PATIENCE, files + " to go", () -> !Files.exists(files));
    node.ctl("node", "role", "add", node.id(), ROLE).requireSuccess("role add");
    awaitRunning();
  }

  @Test
  @Order(11)
  @DisplayName("an ordered power-off ends the control plane, then etcd, and leaves nothing behind")
  void down() throws Exception {
    node.down().requireSuccess("down");
    assertEquals(Map.of(), pids());
    assertEquals(List.of(), node.leftovers());
    assertFalse(hasHostAddress());
  }
}
