package dev.polis.debug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.DescriptorShortage;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DescriptorCheckTest {

  @TempDir private Path process;

  /** Writes the files of a process as {@code /proc} shows them. */
  private DescriptorCheck check(String limit, int open) throws IOException {
    Files.writeString(
        process.resolve("limits"),
        """
        Limit                     Soft Limit           Hard Limit           Units
        Max processes             95968                95968                processes
        Max open files            %-20s 1048576              files
        """
            .formatted(limit));
    Path folder = Files.createDirectories(process.resolve("fd"));
    for (int i = 0; i < open; i++) {
      Files.createFile(folder.resolve(Integer.toString(i)));
    }
    return new DescriptorCheck(process);
  }

  @Test
  @DisplayName(
      "from four fifths of the limit on, the condition names both numbers and the commands that raise the limit")
  void named() throws Exception {
    HealthCondition condition = check("20", 16).look().orElseThrow();

    assertEquals(HealthLevel.DEGRADED, condition.level());
    assertTrue(condition.reason().contains("16 descriptors open"), condition::reason);
    assertTrue(condition.reason().contains("of the 20 that"), condition::reason);
    long pid = ProcessHandle.current().pid();
    assertTrue(
        condition.remedy().contains("prlimit --pid " + pid + " --nofile=80:80"), condition::remedy);
    assertTrue(condition.remedy().contains("ulimit -n 80"), condition::remedy);
    assertTrue(condition.remedy().contains("LimitNOFILE=80"), condition::remedy);
  }

  @Test
  @DisplayName("below that, and without a limit, there is no condition")
  void enough() throws Exception {
    assertEquals(Optional.empty(), check("20", 15).look());
    assertEquals(Optional.empty(), check("unlimited", 0).look());
  }

  @Test
  @DisplayName("a file of limits without the line is a failure that names the file")
  void noLine() throws Exception {
    Files.writeString(process.resolve("limits"), "Limit\n");
    IOException failure = assertThrows(IOException.class, new DescriptorCheck(process)::look);
    assertTrue(failure.getMessage().startsWith(process + "/limits has no line"));
  }

  @Test
  @DisplayName("a process without a free descriptor is named, although counting needs one")
  void none() throws Exception {
    DescriptorCheck check = new DescriptorCheck(Path.of("/proc/self"));
    check.look();
    HealthCondition condition;
    try (DescriptorShortage _ = DescriptorShortage.begin()) {
      condition = check.look().orElseThrow();
    }
    assertTrue(condition.code().equals("descriptors-short"), condition::reason);
  }
}
