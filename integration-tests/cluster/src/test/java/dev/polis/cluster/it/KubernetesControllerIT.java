package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import dev.polis.fixtures.Await;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
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
 * cluster has from its beginning.
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

  private static final List<String> PROGRAMS =
      List.of("kube-apiserver", "kube-controller-manager", "kube-scheduler");

  /** An API server takes up to a minute on a shared machine. */
  private static final Duration PATIENCE = Duration.ofSeconds(180);

  @TempDir static Path directory;
  private static TestNode node;
  private static String[] options;

  @BeforeAll
  static void create() throws Exception {
    String programs = System.getenv().getOrDefault("POLIS_KUBERNETES", "");
    Assumptions.assumeTrue(
        Files.isExecutable(Path.of(programs, "bin", "kube-apiserver")),
        "a control plane needs Kubernetes' programs; POLIS_KUBERNETES names their folder");
    options = new String[] {"--set", "dev.polis.kubernetes.programs=" + programs};
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

  @Test
  @Order(2)
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
  @Order(3)
  @DisplayName(
      "explain gives a program that cannot start as the root cause; then the role recovers")
  void rootCause() throws Exception {
    Await.until(
        PATIENCE,
        "explain to name the program",
        () -> {
          // Kills it again each time: after a single kill it would be back before the question.
          node.children("kube-scheduler").forEach(ProcessHandle::destroyForcibly);
          return causes().contains("kube-scheduler");
        });
    awaitRunning();
  }

  /** Returns the causes only, since the explanation of the role always names all programs. */
  private static String causes() throws Exception {
    return node.json("explain", ROLE).getAsJsonObject().get("causes").toString();
  }

  @Test
  @Order(4)
  @DisplayName("a removed role leaves no program, no file and no address, and can be added again")
  void removed() throws Exception {
    for (int time = 1; time <= 2; time++) {
      node.ctl("node", "role", "remove", node.id(), ROLE).requireSuccess("role remove");
      Await.until(PATIENCE, "the programs to end", () -> pids().isEmpty());
      Await.until(PATIENCE, "the host address to go", () -> !hasHostAddress());
      Path files = node.state().resolve("data/kubernetes-controller");
      Await.until(PATIENCE, files + " to go", () -> !Files.exists(files));
      node.ctl("node", "role", "add", node.id(), ROLE).requireSuccess("role add");
      awaitRunning();
    }
  }

  @Test
  @Order(5)
  @DisplayName("an ordered power-off ends the control plane, then etcd, and leaves nothing behind")
  void down() throws Exception {
    node.down().requireSuccess("down");
    assertEquals(Map.of(), pids());
    assertEquals(List.of(), node.leftovers());
    assertFalse(hasHostAddress());
  }
}
