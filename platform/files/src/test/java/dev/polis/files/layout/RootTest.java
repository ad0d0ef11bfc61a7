package dev.polis.files.layout;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.DirectoryPlacement;
import dev.polis.files.FilePlacement;
import dev.polis.files.Mode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RootTest {

  @TempDir Path directory;

  private static final class Twice extends DirectoryPlacement {
    Twice(Path path, String first, String second) {
      super(path, Mode.PRIVATE_DIRECTORY);
      file(first, Mode.SECRET);
      directory(second, Mode.PRIVATE_DIRECTORY);
    }
  }

  @Test
  @DisplayName("STO-01 the whole tree has the declared paths")
  void sto01_paths() {
    Root root = Root.at(Path.of("/"));
    assertEquals(Path.of("/esp"), root.esp().path());
    assertEquals(Path.of("/esp/sealed_configuration.pb"), root.esp().sealedConfiguration().path());
    assertEquals(
        Path.of("/data/node/credentials/cert.pem"),
        root.data().node().credentials().certificate().path());
    assertEquals(Path.of("/ephemeral/machine-id"), root.ephemeral().machineId().path());
  }

  @Test
  @DisplayName(
      "STO-01 no two declarations of the tree have the same path, and none leaves its directory")
  void sto01_wholeTreeValidates() throws ReflectiveOperationException {
    List<Path> paths = new ArrayList<>();
    collect(Root.at(directory), paths);
    assertTrue(paths.size() > 30, "only " + paths.size() + " placements were found in the tree");
    assertEquals(
        paths.size(), paths.stream().distinct().count(), "a path is declared twice: " + paths);
    paths.forEach(path -> assertTrue(path.startsWith(directory), path + " leaves " + directory));
  }

  private static void collect(Object placement, List<Path> into)
      throws ReflectiveOperationException {
    into.add(
        placement instanceof FilePlacement file
            ? file.path()
            : ((DirectoryPlacement) placement).path());
    for (var method : placement.getClass().getMethods()) {
      boolean declares =
          method.getParameterCount() == 0
              && (FilePlacement.class.isAssignableFrom(method.getReturnType())
                  || DirectoryPlacement.class.isAssignableFrom(method.getReturnType()));
      if (declares && placement instanceof DirectoryPlacement) {
        collect(method.invoke(placement), into);
      }
    }
  }

  @Test
  @DisplayName("STO-01 declaring one name twice fails, and so does an invalid name")
  void sto01_declaringTwiceFails() {
    var refusal =
        assertThrows(IllegalArgumentException.class, () -> new Twice(directory, "a", "a"));
    assertTrue(refusal.getMessage().contains("\"a\" is declared twice in " + directory));
    for (String name : List.of("", ".", "..", "a/b", "a\0b")) {
      assertThrows(
          IllegalArgumentException.class, () -> new Twice(directory, "ok", name), "name: " + name);
    }
  }

  @Test
  @DisplayName("only the node can read keys")
  void modes() {
    Root root = Root.at(directory);
    for (FilePlacement secret :
        List.of(
            root.esp().parameters(),
            root.esp().sealedConfiguration(),
            root.esp().enrolmentJournal(),
            root.data().node().credentials().key())) {
      assertEquals(Mode.SECRET, secret.mode(), secret.toString());
    }
  }

  @Test
  void aDirectoryIsMadeWithWhatIsAboveItAndItsMode() throws Exception {
    Root root = Root.at(directory.resolve("state"));
    assertFalse(root.data().node().credentials().exists());
    root.data().node().credentials().create();
    assertEquals(
        Mode.PRIVATE_DIRECTORY.permissions(),
        Files.getPosixFilePermissions(root.data().node().path()));
    assertEquals(List.of("credentials"), root.data().node().list());
  }

  @Test
  @DisplayName(
      "an existing folder that is open to other users is closed; they may still pass through it")
  void tightened() throws Exception {
    Root root = Root.at(directory);
    Path folder = root.ephemeral().create();
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxrwxrw-"));
    root.ephemeral().create();
    assertEquals(Mode.PRIVATE_DIRECTORY.permissions(), Files.getPosixFilePermissions(folder));

    root.ephemeral().letOthersPass();
    root.ephemeral().create();
    assertEquals("rwx-----x", PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)));
  }
}
