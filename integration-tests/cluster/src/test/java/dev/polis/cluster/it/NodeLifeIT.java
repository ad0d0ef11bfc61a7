package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdBinary;
import dev.polis.fixtures.Finished;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The life of one node, as its operator sees it. */
class NodeLifeIT {

  @TempDir Path directory;

  @Test
  @DisplayName("SEED-18 a node comes home, is owned, shows itself, and leaves nothing behind")
  void aNodeComesHomeAndLeavesNothing() throws Exception {
    try (TestNode node = TestNode.prepared(directory.resolve("n"), "127.0.21.1")) {
      node.up();
      node.takeOwnership();
      assertEquals(0, node.ctl("health", "--wait", "30").code());
      JsonArray nodes = node.json("node", "list").getAsJsonArray();
      assertEquals(1, nodes.size());
      JsonObject shown = nodes.get(0).getAsJsonObject();
      assertEquals("UP", shown.get("state").getAsString());
      assertEquals("HEALTHY", shown.get("health").getAsString());
      assertEquals("127.0.21.1", shown.get("address").getAsString());
      assertTrue(shown.get("roles").toString().contains("ConsensusMember"), shown.toString());
      assertTrue(recordsInEtcd(node).contains("namespaced:curator//nodes/" + node.id()));
      Finished down = node.down();
      assertEquals(0, down.code(), down.all());
      assertEquals(List.of(), node.leftovers());
    }
  }

  /** Looks into etcd with the very command line that the operator is shown. */
  private static String recordsInEtcd(TestNode node) throws Exception {
    JsonObject status = node.json("etcd", "status").getAsJsonArray().get(0).getAsJsonObject();
    List<String> command =
        new ArrayList<>(Arrays.asList(status.get("etcdctl").getAsString().split(" ")));
    command.set(0, EtcdBinary.folder().resolve("etcdctl").toString());
    command.set(command.size() - 1, "");
    Finished etcdctl = TestNode.finish(command, Map.of("ETCDCTL_API", "3"));
    assertEquals(0, etcdctl.code(), etcdctl.all());
    return etcdctl.out();
  }

  @Test
  @DisplayName("kill -9 of the JVM: the same node, and etcd keeps its PID")
  void jvmKilled() throws Exception {
    try (TestNode node = TestNode.prepared(directory.resolve("n"), "127.0.21.2")) {
      node.up();
      node.takeOwnership();
      String id = node.id();
      long etcd = node.etcd().pid();
      node.killJvm();
      assertTrue(node.etcd().isAlive());
      node.up();
      assertEquals(id, node.id());
      assertEquals(etcd, node.etcd().pid());
    }
  }

  @Test
  @DisplayName("kill -9 of etcd: it is restarted, and the node is the same")
  void etcdKilled() throws Exception {
    try (TestNode node = TestNode.prepared(directory.resolve("n"), "127.0.21.3")) {
      node.up();
      node.takeOwnership();
      String id = node.id();
      long etcd = node.etcd().pid();
      node.etcd().destroyForcibly();
      Await.until(
          TestNode.PATIENCE,
          "the cluster to be healthy after etcd was killed",
          () -> node.ctl("health").code() == 0 && node.etcd().pid() != etcd);
      assertEquals(id, node.id());
    }
  }

  @Test
  @DisplayName("kill -9 of both: the same node comes back")
  void bothKilled() throws Exception {
    try (TestNode node = TestNode.prepared(directory.resolve("n"), "127.0.21.4")) {
      node.up();
      node.takeOwnership();
      String id = node.id();
      long etcd = node.etcd().pid();
      ProcessHandle old = node.etcd();
      node.killJvm();
      old.destroyForcibly();
      old.onExit().get();
      node.up();
      assertEquals(id, node.id());
      assertNotEquals(etcd, node.etcd().pid());
    }
  }

  @Test
  @DisplayName("SIGTERM stops the organs and leaves etcd to the next process")
  void terminated() throws Exception {
    try (TestNode node = TestNode.prepared(directory.resolve("n"), "127.0.21.5")) {
      node.up();
      long etcd = node.etcd().pid();
      assertEquals(0, node.terminate(), node.said());
      assertEquals(etcd, node.etcd().pid());
      node.up();
      assertEquals(etcd, node.etcd().pid());
      assertFalse(node.said().contains("GURU"), node.said());
    }
  }

  @Test
  @DisplayName("D-05 no secret of a whole bootstrap is in any log or on the screen")
  void noSecretIsPrinted() throws Exception {
    try (TestNode node = TestNode.prepared(directory.resolve("n"), "127.0.21.6")) {
      node.up("--log", "=INFO");
      node.takeOwnership();
      node.ctl("health", "--wait", "30");
      String printed = node.said() + node.ctl("node", "logs").out();
      assertTrue(printed.contains("Cluster enrolment done."), "the log is not there: " + printed);
      for (String secret : Secrets.of(node.state())) {
        assertFalse(
            printed.contains(secret), "a secret is printed: " + secret.substring(0, 8) + "…");
      }
    }
  }
}
