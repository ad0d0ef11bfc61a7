package dev.polis.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.layout.Root;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OrganFolderTest {

  @TempDir Path state;

  private static OrganFolder folder(String name) {
    return new OrganFolder(name, Mode.PRIVATE_DIRECTORY);
  }

  @Test
  @DisplayName("a folder that an organ declares is on the data volume with its mode")
  void placed() throws Exception {
    Root root = Root.at(state);
    FolderPlacement place = root.data().organFolder(folder("backup"));
    FilePlacement journal = place.declareFile("journal", Mode.SECRET);
    place.create();
    journal.write("one".getBytes(StandardCharsets.UTF_8));
    assertEquals(state.resolve("data/backup"), place.path());
    assertEquals(
        "rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(place.path())));
    assertEquals("one", Files.readString(state.resolve("data/backup/journal")));
  }

  @Test
  @DisplayName("other users may pass through a directory and cannot list it")
  void othersPass() throws Exception {
    Root root = Root.at(state);
    root.data().create();
    root.data().letOthersPass();
    root.data().letOthersPass();
    assertEquals(
        "rwx-----x",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(root.data().path())));
  }

  @Test
  @DisplayName("the successor of an organ may declare the same folder and files again")
  void declaredAgain() {
    Root root = Root.at(state);
    root.data().organFolder(folder("backup")).declareFile("journal", Mode.SECRET);
    assertEquals(
        state.resolve("data/backup/journal"),
        root.data().organFolder(folder("backup")).declareFile("journal", Mode.SECRET).path());
  }

  @Test
  @DisplayName("a folder that is declared with two modes, or taken by the layout, is refused")
  void taken() {
    Root root = Root.at(state);
    root.data().organFolder(folder("backup"));
    OrganFolder open = new OrganFolder("backup", Mode.PUBLIC_DIRECTORY);
    assertTrue(
        assertThrows(IllegalArgumentException.class, () -> root.data().organFolder(open))
            .getMessage()
            .contains("PRIVATE_DIRECTORY and as PUBLIC_DIRECTORY"));
    assertTrue(
        assertThrows(IllegalArgumentException.class, () -> root.data().organFolder(folder("node")))
            .getMessage()
            .contains("\"node\" is declared twice"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "..", "a/b", "Backup", "1st"})
  @DisplayName("a malformed folder name is refused with the grammar")
  void malformed(String name) {
    assertTrue(
        assertThrows(IllegalArgumentException.class, () -> folder(name))
            .getMessage()
            .contains("use 1 to 63 of a-z"));
  }

  @Test
  @DisplayName("a mode of files is refused")
  void modeOfFiles() {
    assertThrows(IllegalArgumentException.class, () -> new OrganFolder("backup", Mode.SECRET));
  }
}
