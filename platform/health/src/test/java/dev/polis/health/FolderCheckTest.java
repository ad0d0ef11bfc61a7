package dev.polis.health;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FolderCheckTest {

  @TempDir private Path folder;

  @Test
  @DisplayName("a folder that was renamed under a running node is named, until it is back")
  void renamed() throws Exception {
    Path audit = folder.resolve("audit");
    FolderCheck check = new FolderCheck("storage", () -> List.of(audit), "restart the node");
    assertEquals(Optional.empty(), check.look(), "what was never there is not missed");
    Files.createDirectory(audit);
    assertEquals(Optional.empty(), check.look());

    Path away = Files.move(audit, folder.resolve("away"));

    HealthCondition told = check.look().orElseThrow();
    assertTrue(told.reason().contains(audit.toString()), told.reason());
    assertTrue(told.remedy().startsWith("rename it back"), told.remedy());
    assertTrue(told.remedy().endsWith("if it was deleted: restart the node"), told.remedy());
    Files.move(away, audit);
    assertEquals(Optional.empty(), check.look());
  }

  @Test
  @DisplayName("a folder that is no longer to be there, as of an unmounted volume, is not missed")
  void unmounted() throws Exception {
    List<Path> wanted = new ArrayList<>(List.of(Files.createDirectory(folder.resolve("audit"))));
    FolderCheck check = new FolderCheck("storage", () -> List.copyOf(wanted), "restart the node");
    check.look();
    Files.delete(wanted.getFirst());
    assertTrue(check.look().isPresent());

    wanted.clear();

    assertEquals(Optional.empty(), check.look());
  }
}
