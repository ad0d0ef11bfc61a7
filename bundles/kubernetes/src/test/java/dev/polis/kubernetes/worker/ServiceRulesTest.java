package dev.polis.kubernetes.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.health.HealthScope;
import dev.polis.health.HealthTable;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.process.Commands;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessSpec;
import dev.polis.supervision.SupervisionTree;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ServiceRulesTest {

  @TempDir private Path directory;
  private String tables = "table inet cni\ntable ip kube-proxy";
  private int exit;
  private Instant now = Instant.parse("2026-01-01T00:00:00Z");
  private final InstantSource clock = () -> now;
  private final LogTree logs = LogTree.create();
  private final Log log = logs.log("service-rules");

  @Test
  @DisplayName(
      "kube-proxy is ended when its rules were missing twice, and the log and for an hour the health name that")
  void removed() throws Exception {
    try (ProcessManager.OpenManager processes = ProcessManager.open(directory, logs);
        SupervisionTree tree = SupervisionTree.open(logs);
        HealthTable health = HealthTable.open(tree);
        HealthScope scope = health.role("KubernetesWorker", "")) {
      ServiceRules rules =
          new ServiceRules(
              () -> new Commands.Result(List.of("nft"), exit, tables), processes, scope, clock);
      processes.ensure(ProcessSpec.of("kube-proxy", "/bin/sleep", "1000"));
      try {
        rules.look(log);
        exit = 1;
        tables = "";
        rules.look(log);
        rules.look(log);
        exit = 0;
        tables = "table inet cni";
        rules.look(log);
        assertTrue(processes.lives("kube-proxy"), "ended too early");
        assertEquals("", codes(health));

        rules.look(log);
        assertFalse(processes.lives("kube-proxy"), "still alive");
        assertEquals("service-rules-gone", codes(health));

        tables = "table ip kube-proxy";
        processes.ensure(ProcessSpec.of("kube-proxy", "/bin/sleep", "1000"));
        rules.look(log);
        assertEquals("service-rules-restored", codes(health));
        assertEquals(
            "the rules of kube-proxy were removed from this node's nftables by something else, and kube-proxy has written them again, at 2026-01-01T00:00:00Z; shown for an hour",
            reason(health));
        assertTrue(logged().contains("kube-proxy has written them again"), logged());
        assertTrue(logged().contains("the node ends kube-proxy"), logged());
        now = now.plus(Duration.ofMinutes(59));
        rules.look(log);
        assertEquals("service-rules-restored", codes(health));
        now = now.plus(Duration.ofMinutes(1));
        rules.look(log);
        assertEquals("", codes(health));
      } finally {
        processes.stop("kube-proxy");
      }
    }
  }

  @Test
  @DisplayName("nft is started every 15 s, and removed rules are noticed within 18 s")
  void seldom() throws Exception {
    withProxy(
        (rules, processes) -> {
          Duration pause = rules.look(log);
          tables = "table inet cni";
          Duration again = rules.look(log);
          rules.look(log);

          assertEquals(Duration.ofSeconds(15), pause);
          assertFalse(processes.lives("kube-proxy"), "still alive");
          Duration worst = pause.plus(again);
          assertTrue(worst.compareTo(Duration.ofSeconds(18)) <= 0, worst::toString);
        });
  }

  @Test
  @DisplayName("kube-proxy that has just started is not ended before it has written its rules")
  void justStarted() throws Exception {
    withProxy(
        (rules, processes) -> {
          rules.look(log);
          tables = "table inet cni";
          processes.stop("kube-proxy");
          processes.ensure(ProcessSpec.of("kube-proxy", "/bin/sleep", "1000"));

          assertEquals(Duration.ofSeconds(15), rules.look(log));
          assertTrue(processes.lives("kube-proxy"), "ended too early");
          tables = "table ip kube-proxy";
          assertEquals(Duration.ofSeconds(15), rules.look(log));
          assertTrue(processes.lives("kube-proxy"), "ended although its rules are there");
        });
  }

  private interface Looks {
    void at(ServiceRules rules, ProcessManager processes) throws Exception;
  }

  private void withProxy(Looks looks) throws Exception {
    try (ProcessManager.OpenManager processes = ProcessManager.open(directory, logs);
        SupervisionTree tree = SupervisionTree.open(logs);
        HealthTable health = HealthTable.open(tree);
        HealthScope scope = health.role("KubernetesWorker", "")) {
      processes.ensure(ProcessSpec.of("kube-proxy", "/bin/sleep", "1000"));
      try {
        looks.at(
            new ServiceRules(
                () -> new Commands.Result(List.of("nft"), exit, tables), processes, scope, clock),
            processes);
      } finally {
        processes.stop("kube-proxy");
      }
    }
  }

  private static String reason(HealthTable health) {
    return health.all().peek().orElseThrow().getFirst().conditions().getFirst().reason();
  }

  private String logged() {
    try (LogReader reader = logs.read(LogQuery.of("service-rules").backlogAll())) {
      return reader.backlog().toString();
    }
  }

  private static String codes(HealthTable health) {
    return health.all().peek().orElseThrow().getFirst().conditions().stream()
        .map(condition -> condition.code())
        .reduce("", String::concat);
  }
}
