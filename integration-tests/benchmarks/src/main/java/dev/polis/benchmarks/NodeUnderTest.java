package dev.polis.benchmarks;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Runs a node of the distribution, with a state directory of its own. */
final class NodeUnderTest implements AutoCloseable {

  /** An address that no node has by default, so that another node may run meanwhile. */
  static final String ADDRESS = "127.83.84.86";

  private final Settings settings;
  private final Path state;
  private final List<String> more;
  private Timed running; // null until started

  private NodeUnderTest(Settings settings, Path state, List<String> more) {
    this.settings = settings;
    this.state = state;
    this.more = List.copyOf(more);
  }

  /** Makes a node that was never started. */
  static NodeUnderTest fresh(Settings settings) throws IOException, InterruptedException {
    return fresh(settings, List.of());
  }

  /**
   * Makes a node that was never started.
   *
   * @param more options of each of its starts
   */
  static NodeUnderTest fresh(Settings settings, List<String> more)
      throws IOException, InterruptedException {
    NodeUnderTest node =
        new NodeUnderTest(settings, Files.createTempDirectory(settings.work(), "node"), more);
    node.ctl(
        "params",
        "make",
        "--owner",
        node.owner().toString(),
        "--to",
        node.owner().resolve("parameters.json").toString());
    return node;
  }

  Path state() {
    return state;
  }

  Path owner() {
    return state.resolve("owner");
  }

  /** Runs the operator's command line. */
  void ctl(String... arguments) throws IOException, InterruptedException {
    List<String> command =
        new ArrayList<>(
            settings.java(List.of("-cp", settings.distribution() + "/ctl/*", "dev.polis.ctl.Ctl")));
    command.addAll(List.of(arguments));
    Timed.run(command);
  }

  /**
   * Starts it.
   *
   * @param options further options of the JVM
   * @return nanoseconds from the start of the process to HOME
   */
  long up(String... options) throws IOException, InterruptedException {
    Timed started = Timed.start(launcher(List.of(options), run()), "HOME after");
    running = started;
    return started.await();
  }

  /** Boots to HOME and powers off, while the JVM records an AOT cache for later starts. */
  void train(Path cache) throws IOException, InterruptedException {
    List<String> arguments = new ArrayList<>(run());
    arguments.add("--until-home");
    List<String> options = new ArrayList<>(settings.aotOptions());
    options.add("-XX:AOTCacheOutput=" + cache);
    Timed.run(launcher(options, arguments));
  }

  private List<String> run() {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "run",
                "--state",
                state.toString(),
                "--address",
                ADDRESS,
                "--etcd",
                settings.etcd().toString(),
                "--security",
                "insecure",
                "--parameters",
                owner().resolve("parameters.json").toString()));
    arguments.addAll(more);
    return arguments;
  }

  private List<String> launcher(List<String> options, List<String> arguments) throws IOException {
    List<String> more = new ArrayList<>(options);
    more.add("-Dpolis.distribution=" + settings.distribution());
    more.addAll(List.of("-cp", classPath(), "dev.polis.node.Main"));
    more.addAll(arguments);
    return settings.java(more);
  }

  /** Listed jar by jar, because an AOT cache is bound to the exact class path. */
  private String classPath() throws IOException {
    try (Stream<Path> jars = Files.list(settings.distribution().resolve("lib"))) {
      return jars.map(Path::toString).sorted().collect(Collectors.joining(":"));
    }
  }

  /** Returns the waits that the last start printed. */
  List<String> waits() {
    return running.lines().stream()
        .filter(line -> line.startsWith("✓"))
        .map(line -> line.substring(1).strip())
        .toList();
  }

  /** Ends the JVM; etcd keeps running. */
  void terminate() throws InterruptedException {
    running.terminate();
  }

  /** Ends everything. */
  void down() throws IOException, InterruptedException {
    Timed.run(launcher(List.of(), List.of("stop", "--state", state.toString())));
  }

  long pid() {
    return running.pid();
  }

  EtcdProcess etcd() {
    return EtcdProcess.of(state);
  }

  /** Returns the value of one flag of the node's etcd. */
  String etcdFlag(String name) {
    return etcd().flag(name);
  }

  @Override
  public void close() throws IOException {
    try {
      down();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while the node in " + state + " was stopped");
    } finally {
      if (running != null) {
        running.close();
      }
      delete(state);
    }
  }

  static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
