package dev.polis.kubernetes.control;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.files.FolderPlacement;
import dev.polis.files.layout.Root;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ControlFolderTest {

  @TempDir private Path directory;

  @Test
  @DisplayName("files that something else has changed or removed are written again, and named")
  void restores() throws Exception {
    FolderPlacement placed = Root.at(directory).data().organFolder(ControlFolder.FOLDER);
    placed.create();
    ControlFolder folder = new ControlFolder(placed);
    folder.write(ControlFile.CA, "a");
    folder.write(ControlFile.SCHEDULER, "b");
    folder.placement(ControlFile.API_SERVER).write("c".getBytes(StandardCharsets.UTF_8));
    folder.keep(ControlFile.API_SERVER);
    assertEquals(List.of(), folder.restore());

    Files.writeString(Path.of(folder.path(ControlFile.CA)), "garbage");
    Files.delete(Path.of(folder.path(ControlFile.API_SERVER)));
    assertEquals(
        List.of(folder.path(ControlFile.CA), folder.path(ControlFile.API_SERVER)),
        folder.restore());
    assertEquals("a", Files.readString(Path.of(folder.path(ControlFile.CA))));
    assertEquals("c", Files.readString(Path.of(folder.path(ControlFile.API_SERVER))));
    assertEquals(List.of(), folder.restore());
  }
}
