package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.polis.base.posix.Machine;
import dev.polis.node.exit.Refusal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StateLockTest {

  @TempDir Path folder;
  private Path state;
  private Path target;

  /** Makes a state directory whose lock is a link to another file of the node's user. */
  @BeforeEach
  void prepare() throws Exception {
    target = Files.writeString(folder.resolve("target"), "precious");
    state = Files.createDirectory(folder.resolve("state"));
    Files.createSymbolicLink(NodeDirectory.of(state).lock(), target);
  }

  @Test
  @Tag("attack")
  @DisplayName("a state directory of another user is refused, and no link in it is followed")
  void anotherUsers() throws Exception {
    assumeTrue(Machine.effectiveUser() == 0, "giving a folder to another user needs root");
    Files.setAttribute(state, "unix:uid", 65534);

    assertRefused("alone: it belongs to user");
  }

  @Test
  @Tag("attack")
  @DisplayName("a state directory that every user may write to is refused, and no link followed")
  void open() throws Exception {
    Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxrwxrwx"));

    assertRefused("mode rwxrwxrwx");
  }

  @Test
  @Tag("attack")
  @DisplayName("a lock that is a link is not followed")
  void link() throws Exception {
    assertRefused("can not be written");
  }

  @Test
  @DisplayName("a process that does not have the lock open is not taken for the node that holds it")
  void formerHolder() throws Exception {
    NodeDirectory directory = NodeDirectory.of(folder.resolve("another"));
    Process other = new ProcessBuilder("sleep", "600").start();
    try (StateLock _ = StateLock.take(directory)) {
      assertEquals(Optional.of(ProcessHandle.current()), StateLock.running(directory));
      // A lock that was just taken still has the number of its former holder.
      Files.writeString(directory.lock(), other.pid() + "\n");

      assertEquals(Optional.empty(), StateLock.running(directory));
      String refusal =
          assertThrows(Refusal.class, () -> StateLock.take(directory).close()).getMessage();
      assertTrue(refusal.contains("another process"), refusal);
    } finally {
      other.destroy();
    }
  }

  private void assertRefused(String why) throws Exception {
    Refusal refusal =
        assertThrows(Refusal.class, () -> StateLock.take(NodeDirectory.of(state)).close());
    assertTrue(refusal.getMessage().contains(why), refusal.getMessage());
    assertEquals("precious", Files.readString(target));
  }
}
