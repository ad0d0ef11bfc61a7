package dev.polis.benchmarks;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Finds the processes of one Kubernetes among all of the machine: those whose command lines name
 * its folder, and the shims in the mount namespace of its containerd.
 */
final class Components {

  /** The resources that the processes of a component use together. */
  record Use(int processes, double mebibytes, double cpuSeconds) {
    static final Use NONE = new Use(0, 0, 0);

    Use plus(ProcessSample more) {
      return new Use(processes + 1, mebibytes + more.mebibytes(), cpuSeconds + more.cpuSeconds());
    }
  }

  static final String SHIM = "containerd-shim-runc-v2";
  private static final String CONTAINERD = "containerd";

  static final List<String> NAMES =
      List.of(
          "etcd",
          "kube-apiserver",
          "kube-controller-manager",
          "kube-scheduler",
          "kubelet",
          "kube-proxy",
          "coredns",
          CONTAINERD,
          SHIM);

  private record Found(long pid, String name, String line) {}

  private final Map<String, List<Long>> pids = new TreeMap<>();

  private Components() {}

  /** Finds the running processes of a folder. */
  static Components of(Path folder) throws IOException {
    List<Found> all = all();
    Components components = new Components();
    all.stream()
        .filter(each -> each.line().contains(folder.toString()))
        .filter(each -> !each.name().equals(SHIM))
        .forEach(each -> components.add(each.name(), each.pid()));
    List<Long> runtime = components.pids.getOrDefault(CONTAINERD, List.of());
    if (!runtime.isEmpty()) {
      Optional<Path> namespace = mounts(runtime.getFirst());
      all.stream()
          .filter(each -> each.name().equals(SHIM))
          .filter(each -> mounts(each.pid()).equals(namespace))
          .forEach(each -> components.add(SHIM, each.pid()));
    }
    return components;
  }

  void add(String name, long pid) {
    pids.computeIfAbsent(name, key -> new ArrayList<>()).add(pid);
  }

  boolean has(String name) {
    return pids.containsKey(name);
  }

  private static List<Found> all() {
    List<Found> found = new ArrayList<>();
    for (ProcessHandle handle : ProcessHandle.allProcesses().toList()) {
      String line = commandLine(handle.pid());
      int end = line.indexOf('\0');
      String program = end < 0 ? line : line.substring(0, end);
      String name = program.substring(program.lastIndexOf('/') + 1);
      if (NAMES.contains(name)) {
        found.add(new Found(handle.pid(), name, line));
      }
    }
    return found;
  }

  /** Returns the command line of a process, its parts divided by NUL; empty if it has ended. */
  static String commandLine(long pid) {
    try {
      return Files.readString(
          Path.of("/proc", Long.toString(pid), "cmdline"), StandardCharsets.ISO_8859_1);
    } catch (IOException gone) {
      return "";
    }
  }

  private static Optional<Path> mounts(long pid) {
    try {
      return Optional.of(Files.readSymbolicLink(Path.of("/proc", Long.toString(pid), "ns", "mnt")));
    } catch (IOException gone) {
      return Optional.empty();
    }
  }

  /** Returns the memory and the CPU time of each component so far. */
  Map<String, Use> sample() throws IOException {
    Map<String, Use> samples = new TreeMap<>();
    for (Map.Entry<String, List<Long>> each : pids.entrySet()) {
      Use use = Use.NONE;
      for (long pid : each.getValue()) {
        use = use.plus(ProcessSample.of(pid));
      }
      samples.put(each.getKey(), use);
    }
    return samples;
  }
}
