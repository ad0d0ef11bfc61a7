package dev.polis.debug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.health.HealthCondition;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ThreadCheckTest {

  @TempDir private Path directory;

  private Optional<HealthCondition> look() throws Exception {
    return new ThreadCheck(directory, directory).look();
  }

  private void group(String place, String limit, String number) throws Exception {
    Path folder = Files.createDirectories(directory.resolve(place));
    Files.writeString(folder.resolve("pids.max"), limit + "\n");
    Files.writeString(folder.resolve("pids.current"), number + "\n");
  }

  private void own(String groups) throws Exception {
    Files.writeString(Files.createDirectories(directory.resolve("self")).resolve("cgroup"), groups);
  }

  @ParameterizedTest
  @CsvSource({"0::/node/jvm,node", "8:pids:/node/jvm,pids/node"})
  @DisplayName("a cgroup above the node that admits few more threads is named with its file")
  void fewLeft(String groups, String folder) throws Exception {
    own(groups);
    group(folder, "100", "80");
    assertEquals(Optional.empty(), look());
    group(folder, "100", "81");
    HealthCondition condition = look().orElseThrow();
    assertEquals("threads-short", condition.code());
    assertTrue(
        condition
            .reason()
            .startsWith(
                "the cgroup /node, in which the node runs, has 81 processes and threads of the 100"),
        condition::reason);
    assertTrue(
        condition
            .remedy()
            .startsWith("raise the limit in %s/%s/pids.max".formatted(directory, folder)),
        condition::remedy);
  }

  @Test
  @DisplayName("a cgroup without a limit, and one of another machine, are no fault")
  void noLimit() throws Exception {
    own("0::/\n8:pids:/docker/f00\n");
    group("", "max", "100000");
    assertEquals(Optional.empty(), look());
  }
}
