package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import dev.polis.base.posix.Mounts;
import dev.polis.process.Cgroup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Makes, reads and removes the cgroup that holds all containers of a node, in the one hierarchy of
 * version 2 or in each hierarchy of version 1.
 */
final class Cgroups {

  /** Lists the cgroup versions that the kernel may offer for processes. */
  enum Version {
    V1,
    V2
  }

  /** The hierarchies that the kubelet and runc use. */
  private static final List<String> NEEDED_V1 =
      List.of("cpu", "cpuacct", "memory", "pids", "devices", "freezer", "blkio", "cpuset");

  private static final List<String> NEEDED_V2 = List.of("cpu", "memory", "pids", "cpuset", "io");

  private static final String MOST_PROCESSES = "pids.max";

  /**
   * The part of the machine's process ids for Pods, a half; the node, its children and the operator
   * get the other half.
   */
  private static final long SHARE = 2;

  private static final Path PROCESS_IDS = Path.of("/proc/sys/kernel/pid_max");

  /** The time for the kernel to empty a cgroup, which needs some milliseconds. */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private final Path root;
  private final Version version;

  private Cgroups(Path root, Version version) {
    this.root = root;
    this.version = version;
  }

  /**
   * Finds the version in use.
   *
   * @throws ContainersException naming the missing feature
   */
  static Cgroups find() throws IOException {
    return find(Cgroup.ROOT, Mounts.list());
  }

  static Cgroups find(Path root, List<Mounts.Mount> mounts) throws IOException {
    boolean second =
        mounts.stream()
            .anyMatch(each -> each.point().equals(root) && each.type().equals("cgroup2"));
    if (second) {
      requireControllers(root);
      return new Cgroups(root, Version.V2);
    }
    requireHierarchies(root, mounts);
    return new Cgroups(root, Version.V1);
  }

  private static void requireControllers(Path root) throws IOException {
    List<String> there =
        List.of(Files.readString(root.resolve("cgroup.controllers")).strip().split(" "));
    List<String> missing = NEEDED_V2.stream().filter(each -> !there.contains(each)).toList();
    if (!missing.isEmpty()) {
      throw new ContainersException(
          "cgroup version 2 is mounted at %s without the controllers %s; enable them in the parent cgroup or the kernel"
              .formatted(root, missing));
    }
  }

  private static void requireHierarchies(Path root, List<Mounts.Mount> mounts) throws IOException {
    List<String> missing = new ArrayList<>();
    for (String controller : NEEDED_V1) {
      if (!isHierarchy(root.resolve(controller), mounts)) {
        missing.add(controller);
      }
    }
    if (missing.size() == NEEDED_V1.size()) {
      throw new ContainersException(
          "no cgroups are mounted at %s, neither version 1 nor version 2; mount them: mount -t cgroup2 cgroup2 %s"
              .formatted(root, root));
    }
    if (!missing.isEmpty()) {
      throw new ContainersException(
          "cgroup version 1 is mounted at %s without the hierarchies %s; mount each: mount -t cgroup -o NAME cgroup %s/NAME"
              .formatted(root, missing, root));
    }
  }

  private static boolean isHierarchy(Path folder, List<Mounts.Mount> mounts) throws IOException {
    if (!Files.isDirectory(folder)) {
      return false;
    }
    // Debian mounts cpu and cpuacct together and links their names to it.
    Path real = folder.toRealPath();
    return mounts.stream()
        .anyMatch(each -> each.point().equals(real) && each.type().equals("cgroup"));
  }

  Version version() {
    return version;
  }

  /**
   * Makes the cgroup of this name in all hierarchies that containers need; an existing one stays.
   */
  void make(String name) throws IOException {
    if (version == Version.V2) {
      for (String controller : NEEDED_V2) {
        Files.writeString(root.resolve("cgroup.subtree_control"), "+" + controller);
      }
      limitProcesses(Files.createDirectories(root.resolve(name)));
      return;
    }
    List<String> hierarchies = new ArrayList<>(NEEDED_V1);
    hierarchies.add("systemd");
    for (String hierarchy : hierarchies) {
      if (Files.isDirectory(root.resolve(hierarchy))) {
        Files.createDirectories(root.resolve(hierarchy).resolve(name));
      }
    }
    // A new cpuset has no processors and no memory, and accepts no process.
    Path cpuset = root.resolve("cpuset");
    for (String file : List.of("cpuset.cpus", "cpuset.mems")) {
      Files.writeString(
          cpuset.resolve(name).resolve(file), Files.readString(cpuset.resolve(file)).strip());
    }
    limitProcesses(root.resolve("pids").resolve(name));
  }

  /** Limits all Pods together, so that they cannot use all process ids of the machine. */
  private static void limitProcesses(Path cgroup) throws IOException {
    // In one read: the kernel ends the file after the first read, and Files.readString begins with
    // one byte.
    long most = Long.parseLong(Files.readAllLines(PROCESS_IDS).getFirst());
    Files.writeString(cgroup.resolve(MOST_PROCESSES), Long.toString(most / SHARE));
  }

  /** Returns the ids of the processes in the cgroup of this name and its descendants. */
  Set<Long> processes(String name) throws IOException {
    return new Cgroup(root, name).processes();
  }

  /**
   * Removes the cgroup of this name with its descendants.
   *
   * @throws ContainersException if it is still in use after some seconds
   */
  void remove(String name) throws IOException, InterruptedException {
    List<Path> left = new Cgroup(root, name).remove(PATIENCE, folder -> {});
    if (!left.isEmpty()) {
      throw new ContainersException(
          "cgroup %s still has the processes %s; end them, then remove it with rmdir"
              .formatted(left.getFirst(), processes(name)));
    }
  }
}
