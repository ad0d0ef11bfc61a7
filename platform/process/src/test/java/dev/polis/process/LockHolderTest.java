package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LockHolderTest {

  @TempDir private Path folder;

  private static Optional<String> find(LockHolder locks, Path file, OptionalLong own) {
    return locks.find(List.of(file), own).map(LockHolder.Lock::holder);
  }

  @Test
  @DisplayName("the process with a lock is named with its command; without a lock there is none")
  void named() throws Exception {
    Path file = Files.createFile(folder.resolve("db"));
    assertEquals(Optional.empty(), find(new LockHolder(), file, OptionalLong.empty()));

    long pid = ProcessHandle.current().pid();
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE);
        FileLock _ = channel.lock()) {
      String holder = find(new LockHolder(), file, OptionalLong.empty()).orElseThrow();
      assertEquals("process %d (".formatted(pid), holder.replaceFirst("(?<=\\().*", ""));
      assertEquals(Optional.empty(), find(new LockHolder(), file, OptionalLong.of(pid)));
    }
  }

  @Test
  @DisplayName("a lock that a process has left to its child is the child's")
  void inherited() throws Exception {
    Path file = Files.createFile(folder.resolve("db"));
    Files.writeString(
        folder.resolve("locks"),
        "1: FLOCK  ADVISORY  WRITE 4194305 fe:01:%s 0 EOF\n"
            .formatted(Files.getAttribute(file, "unix:ino")));
    Path child = Files.createDirectories(folder.resolve("4711/fd")).getParent();
    Files.createSymbolicLink(child.resolve("fd/3"), file);
    Files.writeString(child.resolve("cmdline"), "sleep\000600\0");
    assertEquals(
        Optional.of("process 4711 (sleep 600)"),
        find(new LockHolder(folder), file, OptionalLong.empty()));
  }
}
