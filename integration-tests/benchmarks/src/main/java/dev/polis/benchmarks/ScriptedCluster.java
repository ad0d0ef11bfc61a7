package dev.polis.benchmarks;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Runs the same programs by shell scripts, as a baseline. The scripts give the control plane and
 * the node network and mount namespaces of their own; their own stop script ends all that they
 * start.
 */
final class ScriptedCluster implements AutoCloseable {

  static final String IMAGE = "k8s.local/pause:1";

  /** The called scripts of a folder. */
  private static final List<String> SCRIPTS =
      List.of("env.sh", "images.sh", "pki.sh", "net.sh", "cp.sh", "node.sh", "stop.sh");

  /** The programs that the scripts call but do not contain. */
  private static final List<String> NEEDED =
      List.of("gcc", "openssl", "bc", "ip", "nsenter", "unshare");

  /** The prefix of the names of network namespaces and cgroups, so that they differ from others. */
  private static final String PREFIX = "polisbench";

  private static final String DEVICE = "polisbench";
  private static final String OWN_ADDRESS = "10.99.0.253";
  private static final Pattern STEP = Pattern.compile("^(.*) \\+([0-9]*\\.[0-9]+)s$");
  private static final long PATIENCE_SECONDS = 180;

  /**
   * Holds the times of one start, in nanoseconds.
   *
   * @param steps from the API server's start to Ready, without waits that a Node does not
   *     need @param whole from the first script to Ready
   */
  record Start(long steps, long whole) {}

  private final Path scripts;
  private final Path work;
  private final Map<String, String> environment = new TreeMap<>();
  private final Thread ender = new Thread(this::endQuietly, "end of the baseline");
  private boolean running;

  private ScriptedCluster(Path scripts, Path work) {
    this.scripts = scripts;
    this.work = work;
  }

  /** Returns what a folder or the machine lacks for a baseline; empty if nothing. */
  static Optional<String> missing(Path scripts) {
    for (String script : SCRIPTS) {
      if (!Files.isRegularFile(scripts.resolve(script))) {
        return Optional.of(scripts + " holds no " + script);
      }
    }
    for (String program : NEEDED) {
      if (Stream.of(System.getenv("PATH").split(":"))
          .noneMatch(folder -> Files.isExecutable(Path.of(folder, program)))) {
        return Optional.of("the machine has no " + program);
      }
    }
    return Optional.empty();
  }

  /** Makes the folders that the scripts expect, certificates and the image of their Pods. */
  static ScriptedCluster prepared(Settings settings, Path scripts)
      throws IOException, InterruptedException {
    Path work = Files.createTempDirectory(settings.work(), "baseline");
    ScriptedCluster cluster = new ScriptedCluster(scripts, work);
    Path programs = Path.of(settings.kubernetes());
    Path tools = Files.createDirectories(work.resolve("node-tools"));
    link(tools, programs.resolve("bin"));
    link(tools, settings.etcd());
    Files.createSymbolicLink(tools.resolve("cni"), programs.resolve("cni"));
    cluster.environment.putAll(
        Map.of(
            "LAB", work.toString(),
            "KB", programs.resolve("bin").toString(),
            "NT", tools.toString(),
            "DEB", programs.resolve("root").toString(),
            "NETP", PREFIX,
            "CGBASE", PREFIX));
    cluster.script(Map.of(), "images.sh", "pause");
    return cluster;
  }

  private static void link(Path into, Path from) throws IOException {
    try (Stream<Path> programs = Files.list(from)) {
      for (Path program : programs.filter(Files::isRegularFile).toList()) {
        Path link = into.resolve(program.getFileName());
        if (!Files.exists(link)) {
          Files.createSymbolicLink(link, program);
        }
      }
    }
  }

  /** Starts a new cluster, and waits until its node is Ready. */
  Start startNew() throws IOException, InterruptedException, TimeoutException {
    if (Files.exists(run())) {
      NodeUnderTest.delete(run());
    }
    begin();
    script(Map.of(), "pki.sh");
    network();
    long began = System.nanoTime();
    Map<String, Long> control = steps(script(Map.of(), "cp.sh"));
    try (ObjectWatch nodes = ObjectWatch.nodes(access())) {
      script(Map.of(), "node.sh", "start");
      long ready = nodes.await(ObjectWatch::ready);
      Map<String, Long> worker = steps(Files.readAllLines(run().resolve("log/node1.out")));
      long steps =
          step(control, "apiserver start")
              + step(worker, "containerd up")
              + step(worker, "images imported")
              + sinceKubelet(ready);
      return new Start(steps, ready - began);
    }
  }

  /** Restarts a stopped cluster on its data; returns the time of the begin. */
  long startAgain() throws IOException, InterruptedException {
    begin();
    network();
    long began = System.nanoTime();
    script(Map.of("KEEP", "1"), "cp.sh");
    script(Map.of("KEEP", "1"), "node.sh", "start");
    return began;
  }

  /** Returns the administrator's access to the API server. */
  ApiAccess access() throws IOException {
    Path pki = run().resolve("pki");
    return ApiAccess.of(
        server(),
        Files.readString(pki.resolve("admin.key")),
        Files.readString(pki.resolve("admin.crt")),
        Files.readString(pki.resolve("ca.crt")));
  }

  Components components() throws IOException {
    return Components.of(work);
  }

  private Path run() {
    return work.resolve("run");
  }

  private URI server() throws IOException {
    return URI.create(
        ApiAccess.field(Files.readString(run().resolve("kcfg/admin.yaml")), "server"));
  }

  /** Makes the namespaces, and a route from here to the API server. */
  private void network() throws IOException, InterruptedException {
    script(Map.of(), "net.sh");
    String hub = PREFIX + "hub";
    String peer = DEVICE + "h";
    String api = server().getHost();
    command("ip", "link", "add", DEVICE, "type", "veth", "peer", "name", peer, "netns", hub);
    command("ip", "-n", hub, "link", "set", peer, "master", "br0", "up");
    command("ip", "address", "add", OWN_ADDRESS + "/32", "dev", DEVICE);
    command("ip", "link", "set", DEVICE, "up");
    command("ip", "route", "add", api + "/32", "dev", DEVICE, "src", OWN_ADDRESS);
  }

  /** Returns the time from the kubelet's start, which a script recorded, to an event. */
  private long sinceKubelet(long event) throws IOException {
    double started = Double.parseDouble(Files.readString(run().resolve("n1/kubelet.t0")).strip());
    long now = System.nanoTime();
    double age = System.currentTimeMillis() / 1e3 - started;
    return (long) (age * 1e9) - (now - event);
  }

  private static Map<String, Long> steps(List<String> lines) {
    Map<String, Long> steps = new TreeMap<>();
    for (String line : lines) {
      Matcher step = STEP.matcher(line);
      if (step.matches()) {
        steps.put(step.group(1), (long) (Double.parseDouble(step.group(2)) * 1e9));
      }
    }
    return steps;
  }

  private static long step(Map<String, Long> steps, String name) throws IOException {
    return steps.entrySet().stream()
        .filter(each -> each.getKey().startsWith(name))
        .mapToLong(Map.Entry::getValue)
        .findFirst()
        .orElseThrow(() -> new IOException("the scripts did not say \"" + name + "\": " + steps));
  }

  private List<String> script(Map<String, String> more, String name, String... arguments)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of("bash", scripts.resolve(name).toString()));
    command.addAll(List.of(arguments));
    Map<String, String> all = new TreeMap<>(environment);
    all.putAll(more);
    return command(command, all);
  }

  private static void command(String... words) throws IOException, InterruptedException {
    Path output = Files.createTempFile("baseline", ".out");
    run(List.of(words), Map.of(), output);
    Files.delete(output);
  }

  private List<String> command(List<String> command, Map<String, String> more)
      throws IOException, InterruptedException {
    // A file, since processes that outlive the scripts would hold a pipe open.
    return run(command, more, Files.createTempFile(work, "script", ".out"));
  }

  private static List<String> run(List<String> command, Map<String, String> more, Path output)
      throws IOException, InterruptedException {
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
    builder.environment().putAll(more);
    Process process = builder.start();
    if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw new IOException(command + " did not end; it said: " + Files.readString(output));
    }
    if (process.exitValue() != 0) {
      throw new IOException(command + " failed: " + Files.readString(output));
    }
    return Files.readAllLines(output);
  }

  private void begin() {
    if (!running) {
      Runtime.getRuntime().addShutdownHook(ender);
      running = true;
    }
  }

  /** Ends all that runs. */
  void stop() throws IOException, InterruptedException {
    if (running) {
      Runtime.getRuntime().removeShutdownHook(ender);
      running = false;
      script(Map.of(), "stop.sh");
    }
  }

  /** Runs when a signal ends this process during a run. */
  private void endQuietly() {
    try {
      script(Map.of(), "stop.sh");
    } catch (IOException | InterruptedException e) {
      System.err.println("the baseline in " + work + " was not ended: " + e.getMessage());
    }
  }

  @Override
  public void close() throws IOException {
    try {
      stop();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while the baseline in " + work + " was ended", e);
    } finally {
      NodeUnderTest.delete(work);
    }
  }
}
