package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.health.HealthScope;
import dev.polis.health.HealthTable;
import dev.polis.logtree.LogTree;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessSpec;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DaemonHealthTest {

  private static final Duration PATIENCE = Duration.ofSeconds(30);

  @TempDir private Path folder;

  @Test
  @DisplayName(
      "a volume's daemon that a signal stopped is named, with the command that continues it")
  void stopped() throws Exception {
    LogTree logs = LogTree.create();
    try (ProcessManager.OpenManager processes = ProcessManager.open(folder, logs);
        SupervisionTree tree = SupervisionTree.open(logs);
        HealthTable table = HealthTable.open(tree)) {
      Subtree organ = tree.organ("storage");
      HealthScope scope = table.organ("storage", organ.dn());
      organ.run("daemons", new DaemonHealth(processes, scope)::run);
      long pid =
          processes.ensure(ProcessSpec.of("volume-gocryptfs", "/usr/bin/sleep", "600")).pid();
      try {
        signal("STOP", pid);
        Await.until(PATIENCE, "health names the daemon", () -> named(table).isPresent());
        HealthCondition condition = named(table).orElseThrow();
        signal("CONT", pid);

        assertEquals(HealthLevel.DOWN, condition.level());
        String words = "volume-gocryptfs (pid %d) has not answered for ".formatted(pid);
        assertTrue(condition.reason().contains(words), condition::reason);
        assertTrue(condition.reason().contains("kill -CONT " + pid), condition::reason);
        Await.until(PATIENCE, "health is well", () -> named(table).isEmpty());
      } finally {
        processes.stop("volume-gocryptfs");
      }
    }
  }

  private static Optional<HealthCondition> named(HealthTable table) {
    return table.all().peek().orElseThrow().stream()
        .flatMap(status -> status.conditions().stream())
        .filter(condition -> condition.code().equals("volume-daemon-stopped"))
        .findFirst();
  }

  private static void signal(String name, long pid) throws Exception {
    assertEquals(0, new ProcessBuilder("kill", "-" + name, Long.toString(pid)).start().waitFor());
  }
}
