package dev.polis.base.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ErrnoTest {

  @TempDir Path directory;

  @Test
  void anErrorIsFoundByTheTextThatTheJdkPutsIntoItsExceptions() throws Exception {
    Path file = Files.createFile(directory.resolve("file"));
    FileSystemException jdk =
        assertThrows(
            FileSystemException.class, () -> Files.createFile(file.resolve("inside-a-file")));
    assertEquals(Errno.ENOTDIR, Errno.of(jdk));
    assertEquals(Errno.OTHER, Errno.of(new IOException("everything is fine")));
    assertEquals(Errno.OTHER, Errno.of(new IOException(LibC.describe(0))), "the text of no error");
  }

  @Test
  void aRefusalNamesCallArgumentsErrorAndRemedy() throws Exception {
    Path missing = directory.resolve("missing");
    PosixException refused =
        assertThrows(
            PosixException.class,
            () -> Mounts.mount("x", missing, "tmpfs", java.util.List.of("size=1m")));
    // The kernel searches for the target before it checks the caller's rights.
    assertEquals(Errno.ENOENT, refused.errno());
    assertEquals(
        "mount(x, %s, tmpfs, 0x0, size=1m): No such file or directory (ENOENT); make the missing file or directory first"
            .formatted(missing),
        refused.getMessage());
  }

  @Test
  void anUnknownErrorIsNamedByTheTextOfTheSystem() {
    assertEquals(Errno.OTHER, Errno.of(71));
    assertTrue(LibC.describe(71).contains("rotocol"), LibC.describe(71));
  }
}
