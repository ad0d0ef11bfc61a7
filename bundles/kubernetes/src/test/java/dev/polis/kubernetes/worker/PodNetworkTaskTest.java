package dev.polis.kubernetes.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.containers.Isolation;
import dev.polis.base.values.MutableValue;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.health.HealthTable;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.supervision.SupervisionTree;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Parses routes as the system's {@code ip} prints them. */
class PodNetworkTaskTest {
  private static final String OURS =
      "10.244.0.0/24 via 198.18.1.3 dev polis0 src 198.18.1.2 onlink \n";
  private static final String THEIRS =
      "10.244.0.0/24 via 198.18.9.3 dev polis01 src 198.18.9.2 onlink \n";

  @Test
  @DisplayName("routes to the Pods of other nodes are found, and this node's own are not")
  void otherRoute() {
    assertEquals(Optional.empty(), PodNetworkTask.otherRoute("", "polis0"));
    assertEquals(Optional.empty(), PodNetworkTask.otherRoute(OURS, "polis0"));
    assertEquals(Optional.of(THEIRS.strip()), PodNetworkTask.otherRoute(THEIRS, "polis0"));
    assertEquals(Optional.of(THEIRS.strip()), PodNetworkTask.otherRoute(OURS + THEIRS, "polis0"));
  }

  @Test
  @DisplayName("a CNI configuration that was removed or changed is restored")
  void restores(@TempDir Path directory) throws Exception {
    WorkerFixture worker = new WorkerFixture(directory, "127.0.0.1", Isolation.NAMESPACES, 36);
    LogTree logs = LogTree.create();
    Log log = logs.log("test");
    Path file = worker.files.network().resolve("10-polis.conflist");
    try (SupervisionTree tree = SupervisionTree.open(logs);
        HealthTable health = HealthTable.open(tree);
        HealthScope scope = health.role("KubernetesWorker", "")) {
      PodNetworkTask task =
          new PodNetworkTask(
              null, worker.plan, worker.files, new MutableValue<>(Optional.empty()), scope);

      task.restore("", log);
      assertFalse(Files.exists(file));
      task.restore("10.244.0.0/24", log);
      String whole = Files.readString(file);
      Files.writeString(file, "garbage");
      task.restore("10.244.0.0/24", log);
      assertEquals(whole, Files.readString(file));
      HealthCondition named = health.all().peek().orElseThrow().getFirst().conditions().getFirst();
      assertEquals("pod-network-restored", named.code());
      assertTrue(named.reason().contains(worker.files.network().toString()), named::reason);
    }
  }

  @ParameterizedTest
  @EnumSource(Isolation.class)
  @DisplayName(
      "forwarding that was switched off is switched on again in the machine's own network, and is named")
  void forwards(Isolation isolation, @TempDir Path directory) throws Exception {
    WorkerFixture worker = new WorkerFixture(directory, "127.0.0.1", isolation, 36);
    boolean own = isolation != Isolation.NAMESPACES;
    Path forwarding = Files.writeString(directory.resolve("ip_forward"), "0\n");
    LogTree logs = LogTree.create();
    Log log = logs.log("test");
    try (SupervisionTree tree = SupervisionTree.open(logs);
        HealthTable health = HealthTable.open(tree);
        HealthScope scope = health.role("KubernetesWorker", "")) {
      PodNetworkTask task =
          new PodNetworkTask(
              null, worker.plan, worker.files, new MutableValue<>(Optional.empty()), scope);

      task.restoreForwarding(forwarding, log);

      assertEquals(own, Files.readString(forwarding).startsWith("1"));
      List<String> codes =
          health.all().peek().orElseThrow().stream()
              .flatMap(each -> each.conditions().stream())
              .map(HealthCondition::code)
              .toList();
      assertEquals(own, codes.contains("pod-network-restored"), codes::toString);
    }
  }
}
