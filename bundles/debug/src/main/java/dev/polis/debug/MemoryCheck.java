package dev.polis.debug;

import dev.polis.health.HealthCondition;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Measures the free memory of the machine, and of each cgroup with a limit around the node. Without
 * free memory, the kernel ends the largest process, which need not be the growing one.
 */
final class MemoryCheck {
  private static final String SHORT = "memory-short";

  private static final long MEBI = 1L << 20;
  private static final long KIBI = 1L << 10;

  /**
   * The least free memory, by which an API server may grow in a moment; on a small machine a
   * twentieth.
   */
  private static final long LEAST = 512 * MEBI;

  private static final long SHARE = 20;

  /** The most digits of a limit; the kernel's value for "no limit" is longer in both versions. */
  private static final int DIGITS = 15;

  /** The files of a cgroup, by the controller in {@code /proc/self/cgroup}. */
  private enum Version {
    ONE("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    TWO("", "memory.max", "memory.current", "");

    private final String controller;
    private final String limit;
    private final String usage;
    private final String prefix;

    Version(String controller, String limit, String usage, String prefix) {
      this.controller = controller;
      this.limit = limit;
      this.usage = usage;
      this.prefix = prefix;
    }
  }

  /**
   * Is the machine or a cgroup with a limit of memory.
   *
   * @param group the path of a cgroup; {@code /} for the machine
   * @param limit the file of the limit; empty for the machine
   */
  private record Place(String group, String limit, long whole, long left) {
    boolean isShort() {
      return left < Math.min(LEAST, whole / SHARE);
    }
  }

  private record Taker(long pid, String name, long bytes) {}

  private final Path proc;
  private final Path cgroups;

  /**
   * @param proc the folder of the kernel's processes
   * @param cgroups the mount point of cgroups
   */
  MemoryCheck(Path proc, Path cgroups) {
    this.proc = proc;
    this.cgroups = cgroups;
  }

  /** Reports a shortage of memory, its place, and the largest process. */
  Optional<HealthCondition> look() throws IOException {
    Map<String, Long> machine = numbers(proc.resolve("meminfo"), KIBI);
    Place whole = new Place("/", "", machine.get("MemTotal:"), machine.get("MemAvailable:"));
    return Stream.concat(Stream.of(whole), groups().stream())
        .filter(Place::isShort)
        .findFirst()
        .map(this::condition);
  }

  private HealthCondition condition(Place place) {
    String where =
        place.limit().isEmpty()
            ? "this machine"
            : "the cgroup %s, in which the node runs,".formatted(place.group());
    String more =
        place.limit().isEmpty()
            ? "give the machine more memory"
            : "raise the limit in " + place.limit();
    return HealthCondition.degraded(
        SHORT,
        "%s has %d MiB of memory left of %d MiB: without any, the kernel ends a process"
            .formatted(where, place.left() / MEBI, place.whole() / MEBI),
        largest(place)
            .map(
                taker ->
                    "end what takes most, if it may end: process %d (%s) has %d MiB; or %s"
                        .formatted(taker.pid(), taker.name(), taker.bytes() / MEBI, more))
            .orElse(more));
  }

  /** Returns the cgroups with a limit, from the node's own upwards. */
  private List<Place> groups() throws IOException {
    return Files.readAllLines(proc.resolve("self/cgroup")).stream()
        .map(line -> line.split(":", 3))
        .flatMap(
            part ->
                Arrays.stream(Version.values())
                    .filter(version -> version.controller.equals(part[1]))
                    .flatMap(
                        version ->
                            ancestors(Path.of(part[2]))
                                .flatMap(group -> place(version, group).stream())))
        .toList();
  }

  private static Stream<Path> ancestors(Path group) {
    return Stream.iterate(group, each -> each != null, Path::getParent);
  }

  private Optional<Place> place(Version version, Path group) {
    Path folder =
        cgroups.resolve(version.controller).resolve(Path.of("/").relativize(group).toString());
    try {
      String limit = Files.readString(folder.resolve(version.limit)).strip();
      if (limit.length() > DIGITS || !limit.matches("\\d+")) {
        return Optional.empty();
      }
      long whole = Long.parseLong(limit);
      long used = Long.parseLong(Files.readString(folder.resolve(version.usage)).strip());
      Map<String, Long> parts = numbers(folder.resolve("memory.stat"), 1);
      // The kernel can drop memory that it can read again from a disk.
      long files =
          parts.getOrDefault(version.prefix + "inactive_file", 0L)
              + parts.getOrDefault(version.prefix + "active_file", 0L);
      return Optional.of(
          new Place(
              group.toString(),
              folder.resolve(version.limit).toString(),
              whole,
              whole - used + files));
    } catch (IOException notThere) {
      // In a container the path may be one of the outer machine; the root has no such files.
      return Optional.empty();
    }
  }

  private static Map<String, Long> numbers(Path file, long unit) throws IOException {
    return Files.readAllLines(file).stream()
        .map(line -> line.split("\\s+"))
        .filter(words -> words.length > 1 && words[1].matches("\\d+"))
        .collect(
            Collectors.toMap(
                words -> words[0], words -> Long.parseLong(words[1]) * unit, (a, _) -> a));
  }

  private Optional<Taker> largest(Place place) {
    try (DirectoryStream<Path> processes = Files.newDirectoryStream(proc, "[0-9]*")) {
      Optional<Taker> most = Optional.empty();
      for (Path process : processes) {
        Optional<Taker> taker = taker(process, place);
        if (most.isEmpty() || taker.isPresent() && taker.get().bytes() > most.get().bytes()) {
          most = taker;
        }
      }
      return most;
    } catch (IOException unreadable) {
      return Optional.empty();
    }
  }

  private static Optional<Taker> taker(Path process, Place place) {
    try {
      boolean inside =
          Files.readAllLines(process.resolve("cgroup")).stream()
              .map(line -> line.split(":", 3)[2])
              .anyMatch(group -> Path.of(group).startsWith(place.group()));
      return Optional.ofNullable(numbers(process.resolve("status"), KIBI).get("VmRSS:"))
          .filter(_ -> inside)
          .map(
              bytes -> {
                long pid = Long.parseLong(process.getFileName().toString());
                return new Taker(pid, name(process), bytes);
              });
    } catch (IOException ended) {
      return Optional.empty();
    }
  }

  private static String name(Path process) {
    try {
      return Files.readString(process.resolve("comm")).strip();
    } catch (IOException ended) {
      return "it has ended";
    }
  }
}
