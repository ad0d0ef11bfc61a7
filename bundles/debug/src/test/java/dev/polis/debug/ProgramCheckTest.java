package dev.polis.debug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProgramCheckTest {

  @TempDir private Path process;

  @Test
  @DisplayName("a jar that changes under the node is named, with the way back and no blame")
  void changed() throws Exception {
    Path jar = Files.writeString(process.resolve("a.jar"), "whole");
    Files.writeString(process.resolve("cmdline"), "java\0-cp\0" + jar + "\0Main\0");
    ProgramCheck check = new ProgramCheck(process);
    assertEquals(Optional.empty(), check.look());

    Files.writeString(jar, "cut");
    HealthCondition condition = check.look().orElseThrow();
    assertEquals(HealthLevel.DEGRADED, condition.level());
    assertTrue(
        condition.reason().contains("since its process started: " + jar + " has changed;"),
        condition::reason);
    assertTrue(condition.remedy().contains("'./polis down' and './polis up'"), condition::remedy);
  }
}
