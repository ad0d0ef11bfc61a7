package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Needs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Uses full and read-only disks, on small file systems of their own. */
class VolumeDiskTest {

  @TempDir Path directory;
  private Path disk;

  @BeforeEach
  void mount() throws Exception {
    Needs.root("mounting a small disk");
    disk = Files.createDirectory(directory.resolve("disk"));
    Shell.run("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk.toString());
  }

  @AfterEach
  void unmount() throws Exception {
    if (disk != null) {
      Shell.run("umount", disk.toString());
    }
  }

  @Test
  @DisplayName(
      "a disk too small for the file system of a volume is named, nothing is left, and a retry works")
  void full() throws Exception {
    try (VolumeBench bench = new VolumeBench(disk, StorageSecurity.ENCRYPTED)) {
      UnlockKeys keys = UnlockKeys.generate(new SecureRandom());
      FileException refusal =
          assertThrows(
              FileException.class, () -> bench.manager.mountNew(StorageSecurity.ENCRYPTED, keys));
      assertEquals(Problem.FULL, refusal.problem(), refusal.getMessage());
      assertFalse(bench.volume.exists(), "an unfinished image is left");
      assertFalse(bench.root.esp().volumeFormat().exists(), "the marker is left");
      assertInstanceOf(DataStatus.NotMounted.class, bench.manager.status().peek().orElseThrow());

      Shell.run("mount", "-o", "remount,size=400m", disk.toString());
      bench.manager.mountNew(StorageSecurity.ENCRYPTED, keys);
      bench.manager.close();
    }
  }

  @ParameterizedTest
  @EnumSource
  @DisplayName("a read-only disk is named before any change")
  void readOnly(StorageSecurity security) throws Exception {
    try (VolumeBench bench = new VolumeBench(disk, security)) {
      Shell.run("mount", "-o", "remount,ro", disk.toString());
      FileException refusal =
          assertThrows(
              FileException.class,
              () -> bench.manager.mountNew(security, UnlockKeys.generate(new SecureRandom())));
      assertEquals(Problem.READ_ONLY, refusal.problem(), refusal.getMessage());
    }
  }

  @Test
  @DisplayName(
      "a state directory that cannot be made, or is no directory, is refused with the reason")
  void stateDirectory() throws Exception {
    Shell.run("mount", "-o", "remount,ro", disk.toString());
    FileException unwritable =
        assertThrows(FileException.class, () -> StateDirectory.prepare(disk.resolve("state")));
    assertEquals(Problem.READ_ONLY, unwritable.problem(), unwritable.getMessage());
    Path file = Files.writeString(directory.resolve("file"), "content");
    FileException none = assertThrows(FileException.class, () -> StateDirectory.prepare(file));
    assertTrue(none.getMessage().contains(file + " is not a directory"), none.getMessage());
  }

  @Test
  void preparingTwiceChangesNothing() throws Exception {
    Root root = StateDirectory.prepare(disk.resolve("state"));
    root.esp().parameters().write(new byte[] {1});
    String before = Shell.digest(root.path());
    StateDirectory.prepare(root.path());
    assertEquals(before, Shell.digest(root.path()));
  }
}
