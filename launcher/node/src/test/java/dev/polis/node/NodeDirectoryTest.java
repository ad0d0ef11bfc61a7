package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NodeDirectoryTest {

  @Test
  @DisplayName(
      "files of the running node are in folders that only the node may enter, also in old ones")
  void closed(@TempDir Path state) throws Exception {
    Path ephemeral = Files.createDirectories(state.resolve("ephemeral"));
    Path launcher = Files.createDirectories(ephemeral.resolve("launcher"));
    for (Path each : new Path[] {ephemeral, launcher}) {
      Files.setPosixFilePermissions(each, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    NodeDirectory.of(state).prepare();

    for (Path each : new Path[] {ephemeral, launcher}) {
      assertEquals(
          "rwx------",
          PosixFilePermissions.toString(Files.getPosixFilePermissions(each)),
          each.toString());
    }
  }

  @Test
  @DisplayName("the first line of a crash record is shown although one byte is not valid text")
  void crashThatIsNoText(@TempDir Path state) throws Exception {
    NodeDirectory directory = NodeDirectory.of(state);
    directory.prepare();
    Files.write(directory.crash(), new byte[] {'a', (byte) 0xff, '\n', (byte) 0xff});

    assertEquals(
        Optional.of("a\ufffd (the whole record is in " + directory.shownCrash() + ")"),
        Node.takeCrash(directory));
  }

  @Test
  @DisplayName("a refusal or crash whose own place cannot be written is kept at the other's")
  void crashWithoutItsPlace(@TempDir Path state) throws Exception {
    NodeDirectory directory = NodeDirectory.of(state);
    directory.prepare();
    Files.createDirectories(directory.refused().resolve("in the way"));
    Node.noteRefusal(directory, "refused");
    assertEquals("refused", Files.readString(directory.crash()));

    Files.delete(directory.crash());
    Files.createDirectories(directory.crash().resolve("in the way"));
    Node.keepCrash(directory, "crashed");
    assertEquals("crashed", Files.readString(directory.shownCrash()));
  }
}
