package dev.polis.health;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.FilePlacement;
import dev.polis.files.layout.Root;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileCheckTest {

  @TempDir private Path state;
  private FilePlacement file;
  private FileCheck check;

  @BeforeEach
  void place() {
    file = Root.at(state).esp().sealedConfiguration();
    check = new FileCheck("storage", () -> List.of(file.read().map(FileCheckTest::parse)));
  }

  private static String parse(byte[] bytes) {
    String text = new String(bytes, StandardCharsets.UTF_8);
    if (!text.equals("well")) {
      throw new IllegalArgumentException("no envelope");
    }
    return text;
  }

  @Test
  @DisplayName("a file that was never whole while the node runs is not missed")
  void neverThere() throws Exception {
    assertEquals(Optional.empty(), check.look());
    file.write("garbage".getBytes(StandardCharsets.UTF_8));
    assertEquals(Optional.empty(), check.look());
  }

  @Test
  @DisplayName("a file that is damaged, deleted or replaced is named before the next start fails")
  void lost() throws Exception {
    file.write("well".getBytes(StandardCharsets.UTF_8));
    assertEquals(Optional.empty(), check.look());

    Files.writeString(file.path(), "garbage");
    assertTold(file + " is damaged (no envelope)", "restore it from a copy of this disk, before");

    Files.delete(file.path());
    assertTold(file + " is not there", "restore it from a copy of this disk, before");

    Files.createDirectory(file.path());
    assertTold("cannot read " + file, "move what is there aside");
    Files.delete(file.path());

    file.write("well".getBytes(StandardCharsets.UTF_8));
    assertEquals(Optional.empty(), check.look());
  }

  private void assertTold(String why, String remedy) {
    HealthCondition told = check.look().orElseThrow();
    assertTrue(
        told.reason().startsWith("the node keeps running, but its next start fails: "),
        told.reason());
    assertTrue(told.reason().contains(why), told.reason());
    assertTrue(told.remedy().startsWith(remedy), told.remedy());
    assertTrue(told.remedy().contains("before the node stops"), told.remedy());
  }
}
