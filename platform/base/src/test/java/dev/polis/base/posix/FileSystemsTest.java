package dev.polis.base.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.OptionalLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileSystemsTest {

  @TempDir Path directory;

  @Test
  @DisplayName("the free files of a file system are a part of those that stat counts")
  void freeFiles() throws Exception {
    Process stat =
        new ProcessBuilder("stat", "-f", "-c", "%c", directory.toString())
            .redirectErrorStream(true)
            .start();
    String answer = new String(stat.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, stat.waitFor(), answer);
    long all = Long.parseLong(answer.strip());
    OptionalLong free = FileSystems.freeFiles(directory);
    assertEquals(all > 0, free.isPresent(), answer);
    assertTrue(free.orElse(0) <= all, () -> free + " of " + all);
  }

  @Test
  @DisplayName("a file system without a number of files has no limit")
  void unlimited() throws Exception {
    assertEquals(OptionalLong.empty(), FileSystems.freeFiles(Path.of("/proc")));
  }

  @Test
  @DisplayName("a directory that is not there is an error, and no number")
  void absent() {
    PosixException absent =
        assertThrows(
            PosixException.class, () -> FileSystems.freeFiles(directory.resolve("absent")));
    assertEquals(Errno.ENOENT, absent.errno());
  }
}
