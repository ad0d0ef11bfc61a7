package dev.polis.base.posix;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.DisplayName;
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
  @DisplayName("a device that is detached during the listing is left out")
  void detachedMeanwhile() throws Exception {
    assumeTrue(Files.isWritable(Path.of("/dev/loop-control")), "loop devices need root");
    Path file = Files.write(directory.resolve("image"), new byte[4096]);
    AtomicBoolean over = new AtomicBoolean();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Integer> lists =
          threads.submit(
              () -> {
                int made = 0;
                for (; !over.get(); made++) {
                  LoopDevices.list();
                }
                return made;
              });
      try {
        for (int i = 0; i < 1000; i++) {
          LoopDevices.detach(LoopDevices.attach(file));
        }
      } finally {
        over.set(true);
      }
      assertTrue(lists.get() > 0, "nothing was listed meanwhile");
    }
  }

  @Test
  void aMissingFileIsNotAttached() {
    assumeTrue(Files.isWritable(Path.of("/dev/loop-control")), "loop devices need root");
    PosixException refused =
        assertThrows(PosixException.class, () -> LoopDevices.attach(directory.resolve("none")));
    assertEquals(Errno.ENOENT, refused.errno());
  }
}
