package dev.polis.health;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.FilePlacement;
import dev.polis.files.layout.Root;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModeCheckTest {

  @TempDir private Path state;

  @Test
  @DisplayName("a key with more rights than its own mode is named, with the command that ends it")
  void open() throws Exception {
    FilePlacement key = Root.at(state).data().node().credentials().key();
    ModeCheck check = new ModeCheck("cluster", List.of(key));
    assertEquals(Optional.empty(), check.look(), "a missing file has no mode");
    key.write(new byte[] {1});
    assertEquals(Optional.empty(), check.look());

    mode(key, "rw-r--r--");

    HealthCondition told = check.look().orElseThrow();
    assertTrue(
        told.reason().startsWith(key + " has the mode rw-r--r-- instead of rw-------"),
        told.reason());
    assertTrue(told.remedy().startsWith("chmod 600 " + key + ";"), told.remedy());
    mode(key, "r--------");
    assertEquals(Optional.empty(), check.look(), "fewer rights give no other account access");
  }

  private static void mode(FilePlacement file, String mode) throws Exception {
    Files.setPosixFilePermissions(file.path(), PosixFilePermissions.fromString(mode));
  }
}
