package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.network.Network;
import dev.polis.api.storage.Storage;
import dev.polis.base.boot.StopReason;
import dev.polis.fixtures.RunningProcess;
import dev.polis.handover.HandOverTable;
import dev.polis.health.HealthTable;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.SupervisionTree;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;

class ConsensusComponentTest {

  @Test
  @DisplayName("deactivating leaves etcd running; for a power-off it is stopped")
  void stopReason() throws Exception {
    try (ConsensusHarness harness = new ConsensusHarness();
        SupervisionTree supervisor = SupervisionTree.open(harness.logs);
        var processes =
            ProcessManager.open(harness.root.ephemeral().processes().path(), harness.logs)) {
      ConsensusComponent first =
          component(harness, supervisor, processes, StopReason.PROCESS_RESTART);
      first.startNew(harness.identity);
      first.awaitRunning(ConsensusHarness.PATIENCE);
      RunningProcess etcd = RunningProcess.of(processes.find("etcd").orElseThrow().pid());

      first.deactivate();

      assertTrue(etcd.runs(), "etcd was stopped by a restart of the node");
      assertEquals(List.of(), names(supervisor));

      ConsensusComponent second = component(harness, supervisor, processes, StopReason.POWER_OFF);
      second.startExisting(harness.identity);
      second.awaitRunning(ConsensusHarness.PATIENCE);
      assertEquals(etcd.pid(), processes.find("etcd").orElseThrow().pid());

      second.deactivate();

      assertFalse(etcd.runs(), "etcd outlived the power-off");
      assertEquals(List.of(), names(supervisor));
    }
  }

  private static List<String> names(SupervisionTree supervisor) {
    return supervisor.runnables().peek().orElseThrow().stream()
        .map(runnable -> runnable.dn())
        .filter(dn -> dn.startsWith("root.consensus"))
        .toList();
  }

  private static ConsensusComponent component(
      ConsensusHarness harness,
      SupervisionTree supervisor,
      ProcessManager processes,
      StopReason reason) {
    return new ConsensusComponent(
        service(BundleContext.class, Map.of("registerService", registration())),
        ConsensusSettingsTest.config(Map.of("etcd", ConsensusHarness.etcd())),
        new ConsensusHarness.SilentReport(reason),
        harness.logs,
        supervisor,
        HealthTable.open(supervisor),
        HandOverTable.open(harness.logs, () -> reason, instance -> instance),
        processes,
        service(Storage.class, Map.of("root", harness.root, "data", harness.data)),
        service(Network.class, Map.of("status", harness.network, "clock", harness.clock)));
  }

  private static ServiceRegistration<?> registration() {
    return (ServiceRegistration<?>)
        Proxy.newProxyInstance(
            ServiceRegistration.class.getClassLoader(),
            new Class<?>[] {ServiceRegistration.class},
            (proxy, method, arguments) -> {
              assertEquals("unregister", method.getName());
              return null; // it has no result
            });
  }

  /** Makes a neighbouring organ that answers these methods; a call of any other fails the test. */
  private static <S> S service(Class<S> contract, Map<String, Object> answers) {
    return contract.cast(
        Proxy.newProxyInstance(
            contract.getClassLoader(),
            new Class<?>[] {contract},
            (proxy, method, arguments) -> {
              Object answer = answers.get(method.getName());
              if (answer == null) {
                throw new AssertionError("an unexpected call of " + method.getName());
              }
              return answer;
            }));
  }
}
