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
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RecordCheckTest {

  @TempDir private Path folder;

  @Test
  @DisplayName("a deleted record of a child process is written again, and health names the process")
  void deleted() throws Exception {
    try (ProcessManager.OpenManager processes = ProcessManager.open(folder, LogTree.create())) {
      RecordCheck check = new RecordCheck(processes, () -> Instant.EPOCH);
      processes.ensure(ProcessSpec.of("program", "/usr/bin/sleep", "600"));
      try {
        assertEquals(Optional.empty(), check.look());
        Files.delete(folder.resolve("program.json"));

        HealthCondition told = check.look().orElseThrow();

        assertEquals(HealthLevel.UP, told.level());
        assertTrue(
            told.reason().contains("those of program again at 1970-01-01T00:00:00Z"),
            told.reason());
        assertEquals(List.of("program"), List.of(processes.records().getFirst().name()));
        assertEquals(Optional.of(told), check.look(), "it stays to be read");
      } finally {
        processes.stop("program");
      }
    }
  }
}
