package dev.polis.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.posix.Mounts;
import dev.polis.base.posix.PosixException;
import dev.polis.files.FileException.Problem;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.SmallDisk;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.ReadOnlyFileSystemException;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DiskTroubleTest {

  @TempDir Path directory;

  @Test
  @DisplayName("a full disk is recognised, with every API of the JDK that writes")
  void full() throws Exception {
    Needs.root("mounting a small disk");
    try (SmallDisk disk = SmallDisk.mounted(directory.resolve("full"))) {
      Path file = disk.point().resolve("file");
      byte[] tooMuch = new byte[1 << 20];
      IOException channel = assertThrows(IOException.class, () -> Files.write(file, tooMuch));
      IOException stream =
          assertThrows(
              IOException.class,
              () -> {
                try (var out = new FileOutputStream(file.toFile())) {
                  out.write(tooMuch);
                }
              });
      IOException atomic =
          assertThrows(
              IOException.class,
              () ->
                  AtomicFile.replace(file, tooMuch, Mode.SECRET, AtomicFile.Durability.POWER_LOSS));
      for (IOException failure : List.of(channel, stream, atomic)) {
        assertEquals(Problem.FULL, DiskTrouble.of(failure), failure::toString);
        assertEquals(
            Problem.FULL, DiskTrouble.of(new UncheckedIOException("writing", failure)), "a cause");
      }
    }
  }

  @Test
  @DisplayName("a read-only disk is recognised")
  void readOnly() throws Exception {
    Needs.root("mounting a small disk");
    try (SmallDisk disk = SmallDisk.mounted(directory.resolve("read-only"))) {
      Path file = disk.point().resolve("file");
      disk.readOnly();
      IOException failure =
          assertThrows(IOException.class, () -> Files.writeString(file, "content"));
      assertEquals(Problem.READ_ONLY, DiskTrouble.of(failure), failure::toString);
      assertEquals(Optional.of(file), DiskTrouble.place(failure));
    }
    assertEquals(Problem.READ_ONLY, DiskTrouble.of(new ReadOnlyFileSystemException()));
  }

  @Test
  @DisplayName("a directory without permission is recognised, and its remedy names the user")
  void denied() {
    assertEquals(Problem.DENIED, DiskTrouble.of(new AccessDeniedException("/x")));
    assertTrue(
        DiskTrouble.remedy(Problem.DENIED).contains(System.getProperty("user.name")),
        DiskTrouble.remedy(Problem.DENIED));
  }

  @Test
  @DisplayName("a failed system call is judged by its number, not by its text")
  void systemCall() {
    PosixException refused =
        assertThrows(
            PosixException.class,
            () -> Mounts.unmount(directory.resolve("No space left on device")));
    assertEquals(Problem.IO, DiskTrouble.of(refused), refused::toString);
  }

  @Test
  @DisplayName("any other failure is IO, even if its text mentions a full disk")
  void other() {
    Path missing = directory.resolve("missing");
    assertEquals(
        Problem.IO,
        DiskTrouble.of(assertThrows(NoSuchFileException.class, () -> Files.readString(missing))));
    assertEquals(
        Problem.IO, DiskTrouble.of(new IOException("etcd says: No space left on device, perhaps")));
    assertEquals(Problem.IO, DiskTrouble.of(new IllegalStateException("No space left on device")));
  }

  @Test
  @DisplayName("a file in the place of a folder, and a dangling link, are named with the remedy")
  void otherThanExpected() throws Exception {
    Path file = Files.createFile(directory.resolve("file"));
    String taken =
        DiskTrouble.failed(
                "make directory",
                file,
                0,
                assertThrows(IOException.class, () -> Files.createDirectory(file)))
            .getMessage();
    assertEquals(
        "cannot make directory %1$s: something else is there: %1$s; move what is there aside; nothing was changed"
            .formatted(file),
        taken);
    Path below = file.resolve("below");
    String notThere =
        DiskTrouble.failed(
                "write", below, 0, assertThrows(IOException.class, () -> Files.createFile(below)))
            .getMessage();
    assertTrue(notThere.endsWith("; move what is there aside; nothing was changed"), notThere);
    Path folder = Files.createDirectories(directory.resolve("folder/within")).getParent();
    String folderThere =
        assertThrows(
                FileException.class,
                () -> new FilePlacement(folder, Mode.SECRET).write(new byte[] {1}))
            .getMessage();
    assertTrue(
        folderThere.endsWith("; move what is there aside; nothing was changed"), folderThere);
    assertFalse(folderThere.contains("Exception"), folderThere);
    Path link = Files.createSymbolicLink(directory.resolve("link"), directory.resolve("gone"));
    String dangling =
        DiskTrouble.failed(
                "read", link, 0, assertThrows(IOException.class, () -> Files.readString(link)))
            .getMessage();
    assertTrue(
        dangling.contains(
            "%s is a link to %s, which is not there".formatted(link, directory.resolve("gone"))),
        dangling);
  }

  @Test
  @DisplayName("a failure that was already recognised keeps its problem")
  void recognisedBefore() {
    FileException corrupted = new FileException(Problem.CORRUPTED, "x is corrupted", "restore it");
    assertEquals(Problem.CORRUPTED, DiskTrouble.of(new IllegalStateException(corrupted)));
  }

  @Test
  @DisplayName("the reason of a failure is the system's text without the path")
  void reason() {
    assertEquals(
        "Input/output error",
        DiskTrouble.reason(new FileSystemException("/x", null, "Input/output error")));
    assertEquals("broken", DiskTrouble.reason(new IOException("broken")));
    assertEquals(Optional.empty(), DiskTrouble.place(new IOException("broken")));
  }

  @Test
  @DisplayName("a refused change of an immutable file is named with the command that shows it")
  void immutable() {
    FileSystemException refused =
        new FileSystemException("/x/.a.tmp", null, "Operation not permitted");
    String told = DiskTrouble.failed("write", Path.of("/x/a"), 1, refused).getMessage();
    assertTrue(told.contains("lsattr -d /x /x/a"), told);
    assertTrue(told.contains("chattr -i"), told);
    assertFalse(told.contains("kernel log"), told);
  }
}
