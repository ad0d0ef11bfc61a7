package dev.polis.cluster.it;

import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * A small file system of its own, in memory, which can be full to the page and read-only. Closing
 * takes it away with all that is on it.
 *
 * @param point where it is mounted
 */
record TestDisk(Path point) implements AutoCloseable {

  /** What the kernel gives out of such a file system at a time: a file of one byte has one. */
  static final long PAGE = 4096;

  static TestDisk mounted(Path point) throws Exception {
    Files.createDirectories(point);
    run("mount", "-t", "tmpfs", "-o", "mode=0700,size=" + PAGE, "tmpfs", point.toString());
    return new TestDisk(point);
  }

  /**
   * Leaves room for so many bytes, in whole pages; an empty disk has room for one page at least.
   */
  void leave(long bytes) throws Exception {
    long size = Math.max(PAGE, used() + bytes);
    run("mount", "-o", "remount,size=" + size, point.toString());
  }

  private long used() throws IOException {
    var store = Files.getFileStore(point);
    return store.getTotalSpace() - store.getUnallocatedSpace();
  }

  void readOnly() throws Exception {
    run("mount", "-o", "remount,ro", point.toString());
  }

  void writable() throws Exception {
    run("mount", "-o", "remount,rw", point.toString());
  }

  private static void run(String... command) throws Exception {
    Finished.of(List.of(command), Map.of(), TestNode.PATIENCE)
        .requireSuccess(String.join(" ", command));
  }

  @Override
  public void close() {
    try {
      run("umount", point.toString());
    } catch (Exception e) {
      throw new AssertionError(point + " cannot be unmounted", e);
    }
  }
}
