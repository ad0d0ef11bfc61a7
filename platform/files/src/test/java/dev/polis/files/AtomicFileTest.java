package dev.polis.files;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.AtomicFile.Durability;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.SmallDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class AtomicFileTest {

  @TempDir Path directory;

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  private static List<String> names(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  @ParameterizedTest
  @EnumSource(Durability.class)
  @DisplayName("the content is replaced whole, with the mode, and no other file is left")
  void replaces(Durability durability) throws IOException {
    Path file = directory.resolve("file");
    AtomicFile.replace(file, bytes("a long former content"), Mode.PUBLIC, durability);
    AtomicFile.replace(file, bytes("new"), Mode.SECRET, durability);
    assertEquals("new", Files.readString(file));
    assertEquals(Mode.SECRET.permissions(), Files.getPosixFilePermissions(file));
    assertEquals(List.of("file"), names(directory));
  }

  @Test
  @DisplayName(
      "until the renaming the file has the former content, and a secret temporary file the new one")
  void beforeTheRenaming() throws IOException {
    Path file = directory.resolve("file");
    AtomicFile.replace(file, bytes("former"), Mode.PUBLIC, Durability.POWER_LOSS);
    AtomicReference<String> seen = new AtomicReference<>();
    AtomicFile.replace(
        file,
        bytes("new"),
        Mode.PUBLIC,
        Durability.POWER_LOSS,
        (temporary, target) -> {
          seen.set(Files.readString(target) + ", " + Files.readString(temporary));
          AtomicFile.rename(temporary, target);
        });
    assertEquals("former, new", seen.get());
    assertEquals("new", Files.readString(file));
  }

  @Test
  @DisplayName("a renaming that fails leaves the former content and no temporary file")
  void failedRenaming() throws IOException {
    Path file = directory.resolve("file");
    AtomicFile.replace(file, bytes("former"), Mode.SECRET, Durability.POWER_LOSS);
    IOException failure =
        assertThrows(
            IOException.class,
            () ->
                AtomicFile.replace(
                    file,
                    bytes("new"),
                    Mode.SECRET,
                    Durability.POWER_LOSS,
                    (temporary, target) -> {
                      throw new IOException("injected");
                    }));
    assertEquals("injected", failure.getMessage());
    assertEquals("former", Files.readString(file));
    assertEquals(List.of("file"), names(directory));
  }

  @Test
  @DisplayName("on a full disk the former content stays, and no temporary file takes space")
  void fullDisk() throws Exception {
    Needs.root("mounting a small disk");
    try (SmallDisk disk = SmallDisk.mounted(directory.resolve("disk"))) {
      disk.leave(4 * SmallDisk.PAGE);
      Path file = disk.point().resolve("file");
      AtomicFile.replace(file, bytes("former"), Mode.SECRET, Durability.POWER_LOSS);
      for (int attempt = 0; attempt < 5; attempt++) {
        assertThrows(
            IOException.class,
            () -> AtomicFile.replace(file, new byte[1 << 20], Mode.SECRET, Durability.POWER_LOSS));
      }
      assertEquals("former", Files.readString(file));
      assertEquals(List.of("file"), names(disk.point()));
      AtomicFile.replace(file, bytes("small"), Mode.SECRET, Durability.POWER_LOSS);
      assertEquals("small", Files.readString(file), "small content still fits");
    }
  }

  @Test
  @DisplayName("missing directories are made for this user only")
  void directories() throws IOException {
    Path file = directory.resolve("a/b/file");
    AtomicFile.replace(file, bytes("new"), Mode.SECRET, Durability.POWER_LOSS);
    for (Path made : List.of(directory.resolve("a"), directory.resolve("a/b"))) {
      assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(made)));
    }
  }

  @Test
  @DisplayName(
      "a sweep removes old temporary files, and leaves new ones, directories and foreign files")
  void sweep() throws IOException {
    Path old = Files.writeString(directory.resolve(".file.0123456789abcdef.tmp"), "half");
    Files.setLastModifiedTime(old, FileTime.from(Instant.now().minus(Duration.ofHours(2))));
    Files.writeString(directory.resolve(".file.fedcba9876543210.tmp"), "half");
    Files.createDirectory(directory.resolve(".dir.0123456789abcdef.tmp"));
    Files.writeString(directory.resolve("file.tmp"), "of somebody else");
    assertEquals(1, AtomicFile.sweep(directory, Duration.ofHours(1)));
    assertEquals(
        List.of(".dir.0123456789abcdef.tmp", ".file.fedcba9876543210.tmp", "file.tmp"),
        names(directory));
    assertEquals(1, AtomicFile.sweep(directory, Duration.ZERO));
  }

  @Test
  void aFailureAfterTheRenameSaysThatTheNewContentIsThere() throws IOException {
    Path folder = Files.createDirectory(directory.resolve("folder"));
    Path moved = directory.resolve("moved");
    Path file = folder.resolve("file");
    UnforcedException failure =
        assertThrows(
            UnforcedException.class,
            () ->
                AtomicFile.replace(
                    file,
                    bytes("new"),
                    Mode.SECRET,
                    Durability.POWER_LOSS,
                    (temporary, target) -> {
                      AtomicFile.rename(temporary, target);
                      Files.move(folder, moved);
                    }));
    assertEquals("new", Files.readString(moved.resolve("file")));
    String words = DiskTrouble.failed("write", file, 3, failure).getMessage();
    assertTrue(words.endsWith("the change was made, but a loss of power may undo it"), words);
  }
}
