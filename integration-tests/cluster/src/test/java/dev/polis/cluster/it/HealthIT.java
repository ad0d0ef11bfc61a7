package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdBinary;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.RunningProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads the health of a real node, as its operator does. */
@Tag("full")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class HealthIT {

  private static final String ADDRESS = "127.0.31.1";

  /** The address of the node that several tests use. */
  private static final String HOME = "127.0.31.2";

  @TempDir static Path shared;
  private static TestNode home;
  @TempDir Path directory;

  @BeforeAll
  static void start() throws Exception {
    home = TestNode.member(shared.resolve("home"), HOME);
    home.up();
  }

  @AfterAll
  static void stop() {
    home.close();
  }

  /**
   * Makes a program that waits for a file, then runs etcd.
   *
   * @param go the file for which it waits
   */
  private static Path etcdThatWaitsFor(Path go) throws Exception {
    Path folder = Files.createDirectories(go.resolveSibling("held"));
    Path etcd = EtcdBinary.folder().resolve("etcd");
    Path script =
        Files.writeString(
            folder.resolve("etcd"),
            """
            #!/bin/sh
            if [ "$1" != --version ]; then
              while [ ! -e %s ]; do sleep 0.1; done
            fi
            exec %s "$@"
            """
                .formatted(go, etcd));
    Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
    return folder;
  }

  private static JsonObject health(TestNode node) {
    String out = node.ctl("health", "-o", "json").out();
    return out.isEmpty()
        ? new JsonObject()
        : JsonParser.parseString(out).getAsJsonArray().get(0).getAsJsonObject();
  }

  private static List<String> waits(TestNode node) {
    JsonElement waits = health(node).get("waits");
    List<String> names = new ArrayList<>();
    if (waits != null) {
      waits
          .getAsJsonArray()
          .forEach(wait -> names.add(wait.getAsJsonObject().get("name").getAsString()));
    }
    return names;
  }

  private static JsonObject status(TestNode node, String name) {
    for (JsonElement status : health(node).getAsJsonArray("statuses")) {
      if (status.getAsJsonObject().get("name").getAsString().equals(name)) {
        return status.getAsJsonObject();
      }
    }
    throw new AssertionError(name + " is not among the organs: " + node.ctl("health").all());
  }

  private static void assertContains(String part, String text) {
    assertTrue(text.contains(part), () -> "\"" + part + "\" is not in:\n" + text);
  }

  @ParameterizedTest(name = "{0}")
  @ValueSource(strings = {"127.0.0.1", ADDRESS})
  @DisplayName("polisctl reaches a node that is no member yet, at any address that the node has")
  void aNodeThatIsNoMemberYet(String address) throws Exception {
    Path go = directory.resolve("go");
    try (TestNode node = TestNode.prepared(directory.resolve("n"), address)) {
      node.start("--etcd", etcdThatWaitsFor(go).toString());
      Await.until(
          TestNode.PATIENCE,
          "the node to wait for etcd",
          () -> waits(node).contains("etcd to become ready"));

      Finished conditions = node.ctl("debug", "condition");
      assertEquals(0, conditions.code(), conditions.all());
      assertTrue(
          conditions.out().matches("(?s).*ClusterHome +false.*IPAssigned +true.*"),
          conditions.out());
      assertEquals(5, node.ctl("debug", "condition", "ClusterHome").code());
      assertEquals(0, node.ctl("debug", "logs", "--dn", "root.consensus").code());

      Finished health = node.ctl("health");
      assertEquals(5, health.code(), health.all());
      assertContains("the cluster was not asked: ", health.err());
      assertContains("the node's own report", health.err());
      assertTrue(health.out().matches("(?s).*consensus +organ +WAITING +.*"), health.out());
      assertContains("waiting for etcd to become ready", health.out());

      Finished wait = node.ctl("explain", "etcd to become ready");
      assertContains(
          "(wait, says the debug service of the node at %s): WAITING".formatted(node.address()),
          wait.out());
      assertContains("because consensus: ", node.ctl("explain", "cluster").out());

      Finished refused = node.ctl("takeownership");
      assertEquals(3, refused.code(), refused.all());
      assertContains(
          "the node's listener 'curator' is not open: waits for credentials", refused.err());

      // The rest is the same at each address.
      if (address.equals(ADDRESS)) {
        Files.createFile(go);
        node.awaitHome();
        node.takeOwnership();
        Finished home = node.ctl("health", "--wait", "60");
        assertEquals(0, home.code(), home.all());
      }
    }
  }

  @Test
  @DisplayName("health, /metrics and explain show the same status of an organ")
  void oneStatusOnAllScreens() throws Exception {
    TestNode node = home;
    node.ctl("health", "--wait", "60").requireSuccess("health");
    assertContains(
        "polis_health_status{code=\"up\",kind=\"organ\",name=\"debug\"} 0.0",
        MetricsPage.of(node, node, "/metrics"));

    node.ctl("bundle", "stop", "dev.polis.debug").requireSuccess("bundle stop");

    JsonObject shown = status(node, "debug");
    JsonObject explained = node.json("explain", "debug").getAsJsonObject();
    assertEquals("DOWN", shown.get("level").getAsString());
    assertEquals("stopped", shown.get("code").getAsString());
    assertContains(
        "polis_health_status{code=\"stopped\",kind=\"organ\",name=\"debug\"} 3.0",
        MetricsPage.of(node, node, "/metrics"));
    assertEquals("DOWN", explained.get("level").getAsString());
    assertEquals(
        "debug: " + shown.get("reason").getAsString(),
        explained.getAsJsonArray("causes").get(0).getAsString());
    assertEquals(
        shown.get("remedy").getAsString(),
        explained.getAsJsonArray("remedies").get(0).getAsString());
    assertEquals(5, node.ctl("health").code());

    node.ctl("bundle", "start", "dev.polis.debug").requireSuccess("bundle start");
    assertEquals(0, node.ctl("health", "--wait", "60").code(), () -> node.ctl("health").all());
  }

  @Test
  @DisplayName("organs that stop with another are explained by that one, down to the root cause")
  void theRootCause() throws Exception {
    TestNode node = home;
    node.ctl("bundle", "stop", "dev.polis.consensus").requireSuccess("bundle stop");

    Finished health = node.ctl("health");
    assertEquals(5, health.code(), health.all());
    assertTrue(health.out().matches("(?s).*consensus +organ +DOWN +stopped .*"), health.out());
    assertTrue(
        health.out().matches("(?s).*roles +organ +WAITING +service-missing .*"), health.out());
    assertContains(
        "dev.polis.curator waits for dev.polis.api.consensus.Consensus,"
            + " which dev.polis.consensus provides: dev.polis.consensus is stopped",
        node.ctl("explain", "curator").out());
    assertContains(
        "because consensus: bundle dev.polis.consensus was stopped by hand",
        node.ctl("explain", "roles").out());
    Finished whole = node.ctl("explain", "node");
    assertContains("DOWN", whole.out());
    assertContains("to do: start it with: polisctl bundle start dev.polis.consensus", whole.out());

    node.ctl("bundle", "start", "dev.polis.consensus").requireSuccess("bundle start");
    assertEquals(0, node.ctl("health", "--wait", "60").code(), () -> node.ctl("health").all());
  }

  @ParameterizedTest(name = "{0}")
  @Tag("alone")
  @ValueSource(strings = {"dev.polis.consensus", "dev.polis.curator"})
  @DisplayName(
      "while consensus or curator is stopped, health and node list name the cause within 2 s")
  void inTime(String away) throws Exception {
    TestNode node = home;
    node.ctl("health", "--wait", "60").requireSuccess("health");
    node.ctl("bundle", "stop", away).requireSuccess("bundle stop");
    try {
      for (String[] command : new String[][] {{"health"}, {"node", "list"}}) {
        MachineSpeed speed = MachineSpeed.measure();
        long began = System.nanoTime();
        Finished answer = node.ctl(command);
        speed.assertWithin(
            String.join(" ", command) + " answered",
            Duration.ofSeconds(2),
            Duration.ofNanos(System.nanoTime() - began));
        assertTrue(answer.code() != 0, answer.all());
        assertContains("bundle " + away + " was stopped by hand", answer.all());
        assertContains("polisctl bundle start " + away, answer.all());
      }
    } finally {
      node.ctl("bundle", "start", away).requireSuccess("bundle start");
    }
    assertEquals(0, node.ctl("health", "--wait", "60").code(), () -> node.ctl("health").all());
  }

  @Test
  @DisplayName("remembered roles start while etcd is dead, and the screens name the node's wait")
  void rememberedRoles() throws Exception {
    // The node runs this etcd in the later tests, too.
    Path go = shared.resolve("go");
    TestNode node = home;
    String id = node.id();
    Await.until(
        TestNode.PATIENCE,
        "the role to run",
        () ->
            node.ctl("health").out().contains("KubernetesController")
                && status(node, "KubernetesController")
                    .get("code")
                    .getAsString()
                    .startsWith("no-"));
    ProcessHandle etcd = node.etcd();
    node.terminate();
    etcd.destroyForcibly();
    etcd.onExit().get(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS);

    node.start("--etcd", etcdThatWaitsFor(go).toString());
    Await.until(
        TestNode.PATIENCE,
        "the remembered role to start",
        () -> rolesLog(node).contains("starting role KubernetesController"));

    assertContains("remembered roles: ", rolesLog(node));
    Await.until(
        TestNode.PATIENCE,
        "the node to wait for etcd",
        () -> waits(node).contains("etcd to become ready"));
    Finished health = node.ctl("health");
    assertEquals(5, health.code(), health.all());
    assertContains("the cluster was not asked: ", health.err());
    assertTrue(health.out().matches("(?s).*KubernetesController +role +.*"), () -> health.all());
    assertTrue(
        health.out().matches("(?s).*ConsensusMember +role +WAITING +consensus-not-running .*"),
        () -> health.all());
    Finished describe = node.ctl("node", "describe", id);
    assertEquals(3, describe.code(), describe.all());
    assertContains("the node's listener 'curator' is not open", describe.err());

    Files.createFile(go);
    node.awaitHome();
    assertEquals(0, node.ctl("health", "--wait", "60").code(), () -> node.ctl("health").all());
    assertContains("rolesRunning", node.ctl("node", "describe", id).out());
  }

  private static String rolesLog(TestNode node) {
    return node.ctl("debug", "logs", "--dn", "root.roles", "--backlog", "1000").all();
  }

  @Test
  @Order(Integer.MAX_VALUE)
  @DisplayName(
      "D-47 a power off is answered, then the node ends in order and leaves nothing behind")
  void powerOff() throws Exception {
    TestNode node = home;
    RunningProcess etcd = RunningProcess.of(node.etcd().pid());
    try (OwnerApi owner = OwnerApi.of(node)) {
      owner.powerOff();
    }

    assertEquals(0, node.awaitEnd(), node.said());
    assertTrue(!etcd.runs(), "etcd outlived a power off");
    assertEquals(List.of(), node.leftovers());
    assertContains("powering off: asked for by user \"owner\"", node.said());
  }
}
