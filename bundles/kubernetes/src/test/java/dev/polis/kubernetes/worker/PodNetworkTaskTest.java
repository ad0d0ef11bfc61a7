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

/** Parses routes as the system's {@code ip} prints them, and restores the network of Pods. */
class PodNetworkTaskTest {
  private static final String OURS =
      "10.244.0.0/24 via 198.18.1.3 dev polis0 src 198.18.1.2 onlink \n";
  private static final String THEIRS =
      "10.244.0.0/24 via 198.18.9.3 dev polis01 src 198.18.9.2 onlink \n";

  @TempDir private Path directory;

  /** Works with a task and the folder of its CNI configuration. */
  @FunctionalInterface
  private interface Work {
    void with(PodNetworkTask task, Path network, Log log) throws Exception;
  }

  @Test
  @DisplayName("routes to the Pods of other nodes are found, and this node's own are not")
  void otherRoute() {
    assertEquals(Optional.empty(), PodNetworkTask.otherRoute("", "polis0"));
    assertEquals(Optional.empty(), PodNetworkTask.otherRoute(OURS, "polis0"));
    assertEquals(Optional.of(THEIRS.strip()), PodNetworkTask.otherRoute(THEIRS, "polis0"));
    assertEquals(Optional.of(THEIRS.strip()), PodNetworkTask.otherRoute(OURS + THEIRS, "polis0"));
  }

  /** Works with a task, and returns what its health shows then. */
  private List<HealthCondition> shown(Isolation isolation, Work work) throws Exception {
    WorkerFixture worker = new WorkerFixture(directory, "127.0.0.1", isolation, 36);
    LogTree logs = LogTree.create();
    try (SupervisionTree tree = SupervisionTree.open(logs);
        HealthTable health = HealthTable.open(tree);
        HealthScope scope = health.role("KubernetesWorker", "")) {
      work.with(
          new PodNetworkTask(
              null, worker.plan, worker.files, new MutableValue<>(Optional.empty()), scope),
          worker.files.network(),
          logs.log("test"));
      return health.all().peek().orElseThrow().stream()
          .flatMap(each -> each.conditions().stream())
          .toList();
    }
  }

  @Test
  @DisplayName("a CNI configuration that was removed or changed is restored")
  void restores() throws Exception {
    List<HealthCondition> shown =
        shown(
            Isolation.NAMESPACES,
            (task, network, log) -> {
              Path file = network.resolve("10-polis.conflist");
              task.restore("", log);
              assertFalse(Files.exists(file));
              task.restore("10.244.0.0/24", log);
              String whole = Files.readString(file);
              Files.writeString(file, "garbage");
              task.restore("10.244.0.0/24", log);
              assertEquals(whole, Files.readString(file));
            });
    HealthCondition named = shown.getFirst();
    assertEquals("pod-network-restored", named.code());
    assertTrue(named.reason().contains(directory.toString()), named::reason);
  }

  @ParameterizedTest
  @EnumSource(Isolation.class)
  @DisplayName(
      "forwarding that was switched off is switched on again in the machine's own network, and is named")
  void forwards(Isolation isolation) throws Exception {
    boolean own = isolation == Isolation.MACHINE;
    Path forwarding = Files.writeString(directory.resolve("ip_forward"), "0\n");

    List<HealthCondition> shown =
        shown(isolation, (task, _, log) -> task.restoreForwarding(forwarding, log));

    assertEquals(own, Files.readString(forwarding).startsWith("1"));
    List<String> codes = shown.stream().map(HealthCondition::code).toList();
    assertEquals(own, codes.contains("pod-network-restored"), codes::toString);
  }
}
