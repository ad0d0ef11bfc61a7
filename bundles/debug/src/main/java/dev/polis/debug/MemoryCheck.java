package dev.polis.debug;

import dev.polis.health.HealthCondition;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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

  /** The files of a cgroup. */
  private enum Version {
    ONE("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    TWO("memory.max", "memory.current", "");

    private final String limit;
    private final String usage;
    private final String prefix;

    Version(String limit, String usage, String prefix) {
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
    Map<String, Long> machine = CgroupFolder.numbers(proc.resolve("meminfo"));
    Place whole =
        new Place("/", "", machine.get("MemTotal:") * KIBI, machine.get("MemAvailable:") * KIBI);
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
    return CgroupFolder.around(proc, cgroups, "memory").stream()
        .flatMap(each -> place(each).stream())
        .toList();
  }

  private static Optional<Place> place(CgroupFolder group) {
    Version version = group.unified() ? Version.TWO : Version.ONE;
    Optional<Long> whole = group.number(version.limit);
    Optional<Long> used = group.number(version.usage);
    if (whole.isEmpty() || used.isEmpty()) {
      return Optional.empty();
    }
    // The kernel can drop memory that it can read again from a disk.
    Map<String, Long> uses = group.numbers("memory.stat");
    long files =
        Stream.of("inactive_file", "active_file")
            .mapToLong(part -> uses.getOrDefault(version.prefix + part, 0L))
            .sum();
    return Optional.of(
        new Place(
            group.group().toString(),
            group.folder().resolve(version.limit).toString(),
            whole.get(),
            whole.get() - used.get() + files));
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
      return Optional.ofNullable(CgroupFolder.numbers(process.resolve("status")).get("VmRSS:"))
          .filter(_ -> inside)
          .map(
              kibibytes -> {
                long pid = Long.parseLong(process.getFileName().toString());
                return new Taker(pid, name(process), kibibytes * KIBI);
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
