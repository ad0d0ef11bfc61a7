package dev.polis.node.cleanup;

import dev.polis.base.posix.LoopDevices;
import dev.polis.base.posix.Machine;
import dev.polis.base.posix.Mounts;
import dev.polis.base.posix.Mounts.Mount;
import dev.polis.process.Commands;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/**
 * Unmounts what a node has mounted below its state directory and detaches loop devices that show
 * its files. Volumes are served by FUSE, by loop devices or by device mapper; what else is mounted
 * there, a disk for the state directory itself for one, is the operator's.
 */
public final class StateMounts {

  /** An unmount writes back what is in memory; a slow disk may need long. */
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private StateMounts() {}

  /**
   * Returns what a node has mounted below its state directory; what was mounted last comes first.
   *
   * @param mounts all there are, in the order in which they were mounted
   * @param root the state directory
   */
  static List<Mount> below(Path root, List<Mount> mounts) {
    return mounts.reversed().stream()
        .filter(mount -> mount.point().startsWith(root) && !mount.point().equals(root))
        .filter(StateMounts::isVolume)
        .toList();
  }

  private static boolean isVolume(Mount mount) {
    return mount.type().startsWith("fuse")
        || mount.source().startsWith("/dev/loop")
        || mount.source().startsWith("/dev/mapper/");
  }

  /**
   * Reads what a node has mounted below a directory; what was mounted last comes first.
   *
   * @throws IOException if the mounts can not be read
   */
  public static List<Mount> mounted(Path root) throws IOException {
    return below(root, Mounts.list());
  }

  /**
   * Unmounts what is mounted below a directory.
   *
   * @return what is still mounted below the directory
   * @throws IOException if the mounts cannot be read or fusermount3 is missing
   */
  public static List<Mount> unmount(Path root, Consumer<String> progress)
      throws IOException, InterruptedException {
    for (Mount mount : mounted(root)) {
      progress.accept("unmounting " + mount.point());
      unmount(mount, progress);
    }
    return mounted(root);
  }

  private static void unmount(Mount mount, Consumer<String> progress)
      throws IOException, InterruptedException {
    if (mount.type().startsWith("fuse") && Machine.effectiveUser() != 0) {
      // An ordinary user may end mounts of his own by this program alone, which is setuid root.
      Commands.Result result =
          new Commands().run(PATIENCE, List.of("fusermount3", "-u", mount.point().toString()));
      if (!result.ok()) {
        progress.accept(result.words());
      }
      return;
    }
    try {
      Mounts.unmount(mount.point());
    } catch (IOException e) {
      progress.accept(e.getMessage());
    }
  }

  /** Detaches loop devices whose file lies below the directory. */
  public static void detachLoops(Path root, Consumer<String> progress) throws IOException {
    for (LoopDevices.Attached loop : LoopDevices.list()) {
      if (loop.file().startsWith(root)) {
        progress.accept("detaching " + loop.device());
        try {
          LoopDevices.detach(loop.device());
        } catch (IOException e) {
          progress.accept(e.getMessage());
        }
      }
    }
  }
}
