package dev.polis.debug;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Is a cgroup around the node, in the hierarchy of one controller.
 *
 * @param group the path of the cgroup
 * @param folder the folder with the kernel's files; in a container the path may be one of the outer
 *     machine, and then the folder is not there
 * @param unified whether the files are those of version 2
 */
record CgroupFolder(Path group, Path folder, boolean unified) {

  /** The most digits of a limit; the kernel's value for "no limit" is longer in version 1. */
  private static final int DIGITS = 15;

  /**
   * Lists the cgroups of a controller from the node's own upwards.
   *
   * @param proc the folder of the kernel's processes
   * @param cgroups the mount point of cgroups
   */
  static List<CgroupFolder> around(Path proc, Path cgroups, String controller) throws IOException {
    return Files.readAllLines(proc.resolve("self/cgroup")).stream()
        .map(line -> line.split(":", 3))
        .filter(part -> part[1].isEmpty() || Arrays.asList(part[1].split(",")).contains(controller))
        .flatMap(
            part -> {
              boolean unified = part[1].isEmpty();
              Path hierarchy = unified ? cgroups : cgroups.resolve(controller);
              return Stream.iterate(Path.of(part[2]), each -> each != null, Path::getParent)
                  .map(
                      group ->
                          new CgroupFolder(
                              group,
                              hierarchy.resolve(Path.of("/").relativize(group).toString()),
                              unified));
            })
        .toList();
  }

  /** Returns a number in one of the files; empty for "no limit", and if there is no such file. */
  Optional<Long> number(String file) {
    return line(file)
        .filter(text -> text.matches("\\d{1,%d}".formatted(DIGITS)))
        .map(Long::parseLong);
  }

  /** Returns the first line of one of the files; empty if it is not there. */
  Optional<String> line(String file) {
    try {
      return Files.readAllLines(folder.resolve(file)).stream().map(String::strip).findFirst();
    } catch (IOException notThere) {
      return Optional.empty();
    }
  }

  /** Returns the numbers of one of the files by their names; none if it is not there. */
  Map<String, Long> numbers(String file) {
    try {
      return numbers(folder.resolve(file));
    } catch (IOException notThere) {
      return Map.of();
    }
  }

  /** Reads a file of the kernel with a name and a number in each line. */
  static Map<String, Long> numbers(Path file) throws IOException {
    return Files.readAllLines(file).stream()
        .map(line -> line.split("\\s+"))
        .filter(words -> words.length > 1 && words[1].matches("\\d+"))
        .collect(
            Collectors.toMap(words -> words[0], words -> Long.parseLong(words[1]), (a, _) -> a));
  }
}
