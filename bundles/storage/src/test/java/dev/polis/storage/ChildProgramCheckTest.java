package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.logtree.LogTree;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ChildProgramCheckTest {

  @TempDir private Path folder;

  @Test
  @DisplayName("a child whose program was removed is named while it works, until it is put back")
  void removed() throws Exception {
    Path program = Files.copy(Path.of("/usr/bin/sleep"), folder.resolve("sleep"));
    try (ProcessManager.OpenManager processes =
        ProcessManager.open(folder.resolve("processes"), LogTree.create())) {
      ChildProgramCheck check = new ChildProgramCheck(processes);
      processes.ensure(ProcessSpec.of("etcd", program.toString(), "600"));
      try {
        assertEquals(Optional.empty(), check.look());
        Path moved = Files.move(program, folder.resolve("moved"));

        HealthCondition told = check.look().orElseThrow();

        assertEquals(HealthLevel.DEGRADED, told.level());
        assertTrue(told.reason().contains("etcd (%s)".formatted(program)), told.reason());
        Files.move(moved, program);
        assertEquals(Optional.empty(), check.look());
      } finally {
        processes.stop("etcd");
      }
    }
  }
}
