package dev.polis.posix;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LoopDevicesTest {

  @TempDir Path directory;

  private List<Path> showing(Path file) throws Exception {
    return LoopDevices.list().stream()
        .filter(loop -> loop.file().equals(file))
        .map(LoopDevices.Attached::device)
        .toList();
  }

  @Test
  void anAttachedFileIsSeenAsABlockDeviceUntilItIsDetached() throws Exception {
    assumeTrue(Files.isWritable(Path.of("/dev/loop-control")), "loop devices need root");
    Path file = directory.resolve("image");
    byte[] content = new byte[4096];
    content[0] = 42;
    Files.write(file, content);

    Path device = LoopDevices.attach(file);
    try {
      assertEquals(List.of(device), showing(file));
      byte[] seen = new byte[4096];
      try (RandomAccessFile block = new RandomAccessFile(device.toFile(), "r")) {
        block.readFully(seen);
      }
      assertArrayEquals(content, seen);
    } finally {
      LoopDevices.detach(device);
    }
    assertEquals(List.of(), showing(file));
  }

  @Test
  void aMissingFileIsNotAttached() {
    assumeTrue(Files.isWritable(Path.of("/dev/loop-control")), "loop devices need root");
    PosixException refused =
        assertThrows(PosixException.class, () -> LoopDevices.attach(directory.resolve("none")));
    assertEquals(Errno.ENOENT, refused.errno());
  }
}
