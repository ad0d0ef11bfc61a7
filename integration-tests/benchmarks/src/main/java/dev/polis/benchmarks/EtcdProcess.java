package dev.polis.benchmarks;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Describes the running etcd of a node.
 *
 * @param arguments its command line without the program
 */
record EtcdProcess(long pid, List<String> arguments) {

  static final String HEARTBEAT = "heartbeat-interval";

  /** Finds the etcd of the node with this state directory. */
  static Optional<EtcdProcess> find(Path state) {
    return ProcessHandle.allProcesses()
        .filter(handle -> handle.info().command().orElse("").endsWith("/etcd"))
        .map(handle -> new EtcdProcess(handle.pid(), arguments(handle)))
        .filter(etcd -> etcd.arguments().stream().anyMatch(each -> each.contains(state + "/")))
        .findFirst();
  }

  private static List<String> arguments(ProcessHandle etcd) {
    return etcd.info().arguments().map(List::of).orElse(List.of());
  }

  /** Finds the same etcd, which must run. */
  static EtcdProcess of(Path state) {
    return find(state)
        .orElseThrow(() -> new IllegalStateException("no etcd runs for the node in " + state));
  }

  /** Returns the value of one flag. */
  String flag(String name) {
    String start = "--" + name + "=";
    return arguments.stream()
        .filter(argument -> argument.startsWith(start))
        .map(argument -> argument.substring(start.length()))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("etcd runs without " + start));
  }
}
