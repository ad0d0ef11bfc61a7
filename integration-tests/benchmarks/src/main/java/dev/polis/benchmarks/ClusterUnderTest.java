package dev.polis.benchmarks;

import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.pki.NodeEndpoint;
import dev.polis.rpc.RpcClients;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;

/**
 * Runs a cluster of three nodes on this machine, as its operator does: with the script. The nodes
 * have the numbers 1, 2 and 3.
 */
final class ClusterUnderTest implements AutoCloseable {

  static final int NODES = 3;

  /** Addresses that no node has by default, beside that of a single node under test. */
  private static final String NETWORK = "127.83.84.";

  private static final int BEFORE_FIRST = 86;
  private static final int ETCD_PORT = 7833;

  /** The script itself gives each step two minutes. */
  private static final Duration PATIENCE = Duration.ofMinutes(10);

  private static final Duration POLL = Duration.ofMillis(200);
  private static final Duration END = Duration.ofSeconds(10);

  private final Settings settings;
  private final Path folder;
  private final Ender ender;
  private final List<Process> started = new ArrayList<>(); // guarded by this; only the last may run
  private boolean ended; // guarded by this

  private ClusterUnderTest(Settings settings, Path folder) {
    this.settings = settings;
    this.folder = folder;
    this.ender = Ender.of("the cluster in " + folder, this::end);
  }

  /** Makes a cluster that was never started. */
  static ClusterUnderTest fresh(Settings settings) throws IOException {
    return new ClusterUnderTest(settings, Files.createTempDirectory(settings.work(), "cluster"));
  }

  /**
   * Makes the AOT cache with which the script starts nodes, unless this build has one. The script
   * makes it after its first start, and would do so beside the measurement.
   */
  static void train(Settings settings) throws IOException, InterruptedException {
    ProcessBuilder builder =
        new ProcessBuilder(command(settings, "aot-cache", settings.etcd().toString()))
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD);
    builder.environment().put("POLIS_BUILD", "no");
    Process training = builder.start();
    // It ends its own node, also after a signal that ends this process.
    try (Ender _ = Ender.of("the training", training::waitFor)) {
      if (training.waitFor() != 0) {
        throw new IOException(builder.command() + " failed");
      }
    }
  }

  /** Runs the script in a session of its own, so that Ctrl-C ends it by {@link Ender} alone. */
  private static List<String> command(Settings settings, String... words) {
    List<String> command =
        new ArrayList<>(List.of("setsid", "--wait", settings.script().toString()));
    command.addAll(List.of(words));
    return command;
  }

  private Path base() {
    return folder.resolve("base");
  }

  Path state(int number) {
    return base().resolve(Integer.toString(number));
  }

  static IntStream numbers() {
    return IntStream.rangeClosed(1, NODES);
  }

  private static String address(int number) {
    return NETWORK + (BEFORE_FIRST + number);
  }

  /** Starts what is down; returns the nanoseconds until all nodes are healthy voters. */
  long up() throws IOException, InterruptedException {
    return script(
        "up",
        "--nodes",
        Integer.toString(NODES),
        "--state",
        base().toString(),
        "--address",
        address(1),
        "--etcd",
        settings.etcd().toString(),
        "--security",
        "insecure");
  }

  /** Stops all nodes; returns the nanoseconds. */
  long down() throws IOException, InterruptedException {
    return script("down", "--state", base().toString());
  }

  /** Deletes the stopped nodes; the next start founds another cluster. */
  void clear() throws IOException {
    NodeUnderTest.delete(base());
  }

  private long script(String... words) throws IOException, InterruptedException {
    long began = System.nanoTime();
    Process process;
    synchronized (this) {
      if (ended) {
        throw new IOException("the benchmark ends, and starts no node any more");
      }
      process = start(words);
      started.add(process);
    }
    finish(process, words);
    return System.nanoTime() - began;
  }

  private Process start(String... words) throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(command(settings, words))
            .redirectErrorStream(true)
            .redirectInput(new File("/dev/null"))
            .redirectOutput(said().toFile());
    builder.environment().put("POLIS_BUILD", "no");
    builder.environment().put("POLIS_TRAIN", "no");
    builder.environment().put("XDG_CONFIG_HOME", folder.toString());
    return builder.start();
  }

  private Path said() {
    return folder.resolve("said.txt");
  }

  private void finish(Process process, String... words) throws IOException, InterruptedException {
    String name = "./polis " + String.join(" ", words);
    if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
      throw new IOException(
          "%s did not end within %d minutes; it said: %s"
              .formatted(name, PATIENCE.toMinutes(), Files.readString(said())));
    }
    if (process.exitValue() != 0) {
      throw new IOException(name + " failed: " + Files.readString(said()));
    }
  }

  /** Returns the id and the address of a node's curator. */
  NodeEndpoint endpoint(int number) throws IOException {
    return new NodeEndpoint(
        ClusterAccess.nodeCredentials(state(number)).id(),
        new InetSocketAddress(address(number), ClusterAccess.CURATOR_PORT));
  }

  List<NodeEndpoint> endpoints() throws IOException {
    List<NodeEndpoint> all = new ArrayList<>();
    for (int number = 1; number <= NODES; number++) {
      all.add(endpoint(number));
    }
    return all;
  }

  /** Returns the number of the node with this endpoint. */
  static int number(NodeEndpoint endpoint) {
    String host = endpoint.address().getAddress().getHostAddress();
    return numbers()
        .filter(number -> address(number).equals(host))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("no node of the cluster is at " + host));
  }

  RpcClients owner() throws IOException {
    return ClusterAccess.owner(state(1).resolve("owner"));
  }

  List<EtcdEndpoint> etcdEndpoints() {
    return numbers()
        .mapToObj(number -> EtcdEndpoint.of(address(number) + ":" + ETCD_PORT))
        .toList();
  }

  /** Opens a new connection to etcd's members, without a namespace. */
  EtcdClient etcd() throws IOException {
    return EtcdClient.connect(EtcdAccess.tls(etcdEndpoints(), ClusterAccess.etcdTls(state(1))));
  }

  /** Returns the command line of the etcd of the node that joined last. */
  List<String> etcdArguments() {
    return EtcdProcess.of(state(NODES)).arguments();
  }

  long pid(int number) throws IOException {
    return Long.parseLong(Files.readString(state(number).resolve("node.lock")).strip());
  }

  /**
   * Waits until the first node's etcd has the heartbeat of a cluster. It has that of a single
   * member until its node restarts it, which elects leaders.
   */
  void awaitOneHeartbeat() throws Exception {
    await(
        "the etcd of the first node to take the heartbeat of a cluster",
        () -> {
          List<String> heartbeats =
              numbers()
                  .mapToObj(number -> EtcdProcess.find(state(number)))
                  .flatMap(Optional::stream)
                  .map(etcd -> etcd.flag(EtcdProcess.HEARTBEAT))
                  .toList();
          return heartbeats.size() == NODES && heartbeats.stream().distinct().count() == 1;
        });
    // The node may serve nothing until this returns.
    up();
  }

  /** Kills a node's process and its etcd, as the loss of its machine does; returns the time. */
  long lose(int number) throws IOException {
    Optional<ProcessHandle> node = ProcessHandle.of(pid(number));
    Optional<ProcessHandle> etcd = ProcessHandle.of(EtcdProcess.of(state(number)).pid());
    long since = System.nanoTime();
    node.ifPresent(ProcessHandle::destroyForcibly);
    etcd.ifPresent(ProcessHandle::destroyForcibly);
    return since;
  }

  /** Waits for a condition, which a benchmark needs and does not measure. */
  static void await(String what, Condition condition) throws Exception {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.holds()) {
      if (System.nanoTime() > end) {
        throw new TimeoutException("the benchmark waited too long for " + what);
      }
      IdleBenchmark.pass(POLL);
    }
  }

  /** Decides whether a wait is over. */
  @FunctionalInterface
  interface Condition {
    boolean holds() throws Exception;
  }

  /** Ends what the script started, also in the middle of a start. */
  private void end() throws IOException, InterruptedException {
    List<Process> all;
    synchronized (this) {
      ended = true;
      all = List.copyOf(started);
    }
    if (!all.isEmpty()) {
      terminate(all.getLast());
      String[] down = {"down", "--anyway", "--state", base().toString()};
      try {
        finish(start(down), down);
      } finally {
        for (ProcessHandle left : leftovers()) {
          left.destroyForcibly();
          left.onExit().join();
        }
      }
    }
    NodeUnderTest.delete(folder);
  }

  private static void terminate(Process script) throws InterruptedException {
    List<ProcessHandle> all = script.descendants().toList();
    script.destroy();
    all.forEach(ProcessHandle::destroy);
    script.waitFor(END.toSeconds(), TimeUnit.SECONDS);
  }

  private List<ProcessHandle> leftovers() {
    return ProcessHandle.allProcesses()
        .filter(handle -> handle.pid() != ProcessHandle.current().pid())
        .filter(handle -> Components.commandLine(handle.pid()).contains(base().toString()))
        .toList();
  }

  @Override
  public void close() throws IOException {
    ender.close();
  }
}
