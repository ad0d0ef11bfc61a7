package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.layout.Root;
import dev.polis.health.HealthCondition;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RoomCheckTest {

  @TempDir private Path folder;

  private Optional<HealthCondition> look(long mebibytes) throws Exception {
    return new RoomCheck(Root.at(folder), _ -> mebibytes << 20, _ -> Long.MAX_VALUE).look();
  }

  @Test
  @DisplayName(
      "less room for data than a start of etcd needs is reported, with the folder and the sizes")
  void data() throws Exception {
    Path data = Files.createDirectory(folder.resolve("data"));
    assertEquals(Optional.empty(), look(128));

    HealthCondition told = look(127).orElseThrow();

    assertTrue(
        told.reason()
            .startsWith("the file system of " + data + " has 127 MiB left, but needs 128 MiB"),
        told.reason());
    assertTrue(told.remedy().startsWith("free some space"), told.remedy());
  }

  @Test
  @DisplayName("a file system with room, but for few more files, is reported before the next start")
  void files() throws Exception {
    Path data = Files.createDirectory(folder.resolve("data"));
    Root root = Root.at(folder);
    assertEquals(Optional.empty(), new RoomCheck(root, _ -> 1L << 30, _ -> 500).look());

    HealthCondition told = new RoomCheck(root, _ -> 1L << 30, _ -> 499).look().orElseThrow();

    assertTrue(
        told.reason().startsWith("the file system of " + data + " can hold 499 more files"),
        told.reason());
    assertTrue(told.remedy().contains("df -i " + data), told.remedy());
  }

  @ParameterizedTest
  @CsvSource({"esp, 8, true", "esp, 7, false", "ephemeral, 8, true", "ephemeral, 7, false"})
  @DisplayName("what the node writes beside its data needs little room")
  void others(String name, long mebibytes, boolean well) throws Exception {
    Files.createDirectory(folder.resolve(name));
    assertEquals(well, look(mebibytes).isEmpty());
  }
}
