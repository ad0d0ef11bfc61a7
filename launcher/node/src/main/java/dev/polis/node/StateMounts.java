package dev.polis.node;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * What a node has mounted below its state directory, and which loop devices lie on its files; how
 * to end both by the system's own tools. Volumes are served by FUSE, by loop devices or by device
 * mapper; what else is mounted there, a disk for the state directory itself for one, is the
 * operator's.
 */
final class StateMounts {
  private static final Path MOUNTS = Path.of("/proc/self/mountinfo");
  private static final Path BLOCK = Path.of("/sys/block");

  /** An unmount writes back what is in memory; a slow disk may need long. */
  private static final int TOOL_SECONDS = 60;

  /**
   * A mount.
   *
   * @param type of its file system
   */
  record Mount(Path point, String type) {}

  private StateMounts() {}

  /**
   * @param mountinfo lines in the kernel's form
   * @param root the state directory
   * @return what a node has mounted below it; what was mounted last comes first
   */
  static List<Mount> parse(List<String> mountinfo, Path root) {
    List<Mount> found = new ArrayList<>();
    for (String line : mountinfo) {
      String[] halves = line.split(" - ", 2);
      Path point = Path.of(unescape(halves[0].split(" ")[4]));
      if (halves.length == 2 && point.startsWith(root) && !point.equals(root)) {
        String[] file = halves[1].split(" ");
        if (isVolume(file[0], file[1])) {
          found.addFirst(new Mount(point, file[0]));
        }
      }
    }
    return found;
  }

  private static boolean isVolume(String type, String source) {
    return type.startsWith("fuse")
        || source.startsWith("/dev/loop")
        || source.startsWith("/dev/mapper/");
  }

  /**
   * Reads what a node has mounted below a directory; what was mounted last comes first.
   *
   * @throws IOException if the mounts can not be read
   */
  static List<Mount> mounted(Path root) throws IOException {
    return parse(Files.readAllLines(MOUNTS), root);
  }

  /**
   * Unmounts.
   *
   * @return what is still mounted below the directory
   * @throws IOException if the mounts can not be read or a tool is missing
   * @throws InterruptedException if interrupted
   */
  static List<Mount> unmount(Path root, Consumer<String> progress)
      throws IOException, InterruptedException {
    for (Mount mount : mounted(root)) {
      progress.accept("unmounting " + mount.point());
      boolean fuse = mount.type().startsWith("fuse");
      run(
          progress,
          fuse
              ? List.of("fusermount3", "-u", mount.point().toString())
              : List.of("umount", mount.point().toString()));
    }
    return mounted(root);
  }

  /** Detaches loop devices whose file lies below the directory. */
  static void detachLoops(Path root, Consumer<String> progress)
      throws IOException, InterruptedException {
    List<Path> devices;
    try (Stream<Path> all = Files.list(BLOCK)) {
      devices =
          all.filter(device -> device.getFileName().toString().startsWith("loop"))
              .sorted()
              .toList();
    }
    for (Path device : devices) {
      Path backing = device.resolve("loop").resolve("backing_file");
      if (Files.isReadable(backing)
          && Path.of(Files.readString(backing).strip()).startsWith(root)) {
        progress.accept("detaching /dev/" + device.getFileName());
        run(progress, List.of("losetup", "-d", "/dev/" + device.getFileName()));
      }
    }
  }

  private static void run(Consumer<String> progress, List<String> command)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
            .start();
    if (!process.waitFor(TOOL_SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      progress.accept(String.join(" ", command) + " did not end within " + TOOL_SECONDS + " s");
      return;
    }
    if (process.exitValue() != 0) {
      String said =
          new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
      progress.accept(String.join(" ", command) + " failed: " + said);
    }
  }

  /** The kernel writes blanks and backslashes of paths in octal. */
  private static String unescape(String path) {
    return path.replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\012", "\n")
        .replace("\\134", "\\");
  }
}
