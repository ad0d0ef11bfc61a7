package dev.polis.benchmarks;

import dev.polis.benchmarks.Components.Use;
import dev.polis.benchmarks.Load.Outcome;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.ToDoubleFunction;
import java.util.stream.LongStream;

/**
 * Measures a node with both roles of Kubernetes, beside shell scripts that run the same programs in
 * the same run, if their folder is given.
 */
final class KubernetesBenchmark {

  /** The node's own process, among those of Kubernetes. */
  static final String JVM = "the node's JVM";

  private static final String SCRIPTS = "scripts: ";

  /** An object of half a kilobyte, and a list of some 90 kB. */
  private static final Map<String, String> READS = new LinkedHashMap<>();

  static {
    READS.put("GET of an object", "/api/v1/namespaces/default");
    READS.put("GET of a list", "/apis/rbac.authorization.k8s.io/v1/clusterroles");
  }

  private static final List<Integer> IN_FLIGHT = List.of(1, 16);

  /**
   * The allowed ratios of a program's use to the scripts', and of a call through the proxy to a
   * direct one.
   */
  private static final double MORE_USE = 1.1;

  private static final double MORE_LATENCY = 1.2;

  /** Shares of a core below which ten milliseconds, the kernel's unit, make a ratio meaningless. */
  private static final double LEAST_CPU = 0.002;

  /**
   * Holds the figures of an idle cluster.
   *
   * @param memory in MiB, by component
   * @param cpu in cores, by component
   */
  private record Rest(Map<String, Use> memory, Map<String, Double> cpu) {}

  /** Holds the figures that are measured in both clusters. */
  private record Figures(Latencies pods, Rest rest, Latencies cold) {}

  private final Report report;
  private final Settings settings;
  private final StartBenchmark starts;
  private final ScriptedCluster scripts; // null without a baseline

  private KubernetesBenchmark(
      Report report, Settings settings, StartBenchmark starts, ScriptedCluster scripts) {
    this.report = report;
    this.settings = settings;
    this.starts = starts;
    this.scripts = scripts;
  }

  /**
   * Measures.
   *
   * @param baseline the folder with the scripts
   */
  static void run(Report report, Settings settings, Path folder, Optional<Path> baseline)
      throws Exception {
    StartBenchmark starts = new StartBenchmark(settings, folder);
    progress("training the AOT cache");
    starts.train();
    Optional<String> missing =
        baseline.isEmpty()
            ? Optional.of("no folder was given with --baseline")
            : ScriptedCluster.missing(baseline.get().toAbsolutePath());
    if (missing.isPresent()) {
      progress("there is no baseline: " + missing.get());
      new KubernetesBenchmark(report, settings, starts, null).measure();
      report.note("The figures have no baseline: " + missing.get() + ".");
      return;
    }
    try (ScriptedCluster scripts =
        ScriptedCluster.prepared(settings, baseline.get().toAbsolutePath())) {
      new KubernetesBenchmark(report, settings, starts, scripts).measure();
    }
  }

  private void measure() throws Exception {
    List<Long> ready = new ArrayList<>();
    List<ScriptedCluster.Start> scripted = new ArrayList<>();
    for (int round = 1; round < settings.starts(); round++) {
      startScripts(scripted);
      stopScripts();
      startNode(ready).close();
    }
    startScripts(scripted);
    Optional<Figures> baseline = scripts == null ? Optional.empty() : Optional.of(figures(scripts));
    stopScripts();
    try (RoleNode node = startNode(ready)) {
      figures(node, ready, scripted, baseline);
    }
  }

  private void startScripts(List<ScriptedCluster.Start> scripted)
      throws IOException, InterruptedException, TimeoutException {
    if (scripts != null) {
      progress("the scripts start");
      scripted.add(scripts.startNew());
    }
  }

  private void stopScripts() throws IOException, InterruptedException {
    if (scripts != null) {
      scripts.stop();
    }
  }

  private RoleNode startNode(List<Long> ready)
      throws IOException, InterruptedException, TimeoutException {
    progress("a new node gets both roles");
    RoleNode node = RoleNode.started(settings, starts.nodeOption());
    try {
      ready.add(node.rolesToReady());
      return node;
    } catch (IOException | InterruptedException | TimeoutException | RuntimeException e) {
      node.close();
      throw e;
    }
  }

  private Figures figures(ScriptedCluster cluster)
      throws IOException, InterruptedException, TimeoutException {
    progress("Pods and rest of the scripts");
    PodTimer timer = new PodTimer(cluster.access(), ScriptedCluster.IMAGE);
    timer.makeLasting();
    Latencies pods = timer.createdToReady(settings.pods());
    Rest rest = rest(cluster::components);
    List<Long> cold = new ArrayList<>();
    for (int i = 0; i < settings.powerOns(); i++) {
      String before = timer.lastingContainer();
      cluster.stop();
      long began = cluster.startAgain();
      cold.add(timer.awaitOtherContainer(before) - began);
    }
    return new Figures(pods, rest, of(cold));
  }

  private void figures(
      RoleNode node,
      List<Long> ready,
      List<ScriptedCluster.Start> scripted,
      Optional<Figures> baseline)
      throws IOException, InterruptedException, TimeoutException, ExecutionException {
    ApiAccess direct = node.direct();
    progress("Pods and rest of the node");
    PodTimer timer = new PodTimer(direct, RoleNode.IMAGE);
    timer.makeLasting();
    Latencies pods = timer.createdToReady(settings.pods());
    Rest rest = rest(node::components);
    progress("power on");
    List<Long> adopted = new ArrayList<>();
    PodTimer proxied = new PodTimer(node.proxy(), RoleNode.IMAGE);
    for (int i = 0; i < settings.starts(); i++) {
      node.endProcess();
      adopted.add(sinceStart(node, proxied::awaitLasting));
    }
    List<Long> cold = new ArrayList<>();
    for (int i = 0; i < settings.powerOns(); i++) {
      String before = timer.lastingContainer();
      node.powerOff();
      cold.add(sinceStart(node, () -> timer.awaitOtherContainer(before)));
    }
    times(ready, scripted, pods, of(adopted), of(cold), baseline);
    rest(rest, baseline.map(Figures::rest));
    progress("calls of the API");
    calls(node, direct);
  }

  /** Waits for an event, and returns its time. */
  @FunctionalInterface
  private interface Awaited {
    long await() throws InterruptedException, TimeoutException;
  }

  private static long sinceStart(RoleNode node, Awaited awaited)
      throws IOException, InterruptedException, TimeoutException {
    long began = System.nanoTime();
    node.up();
    return awaited.await() - began;
  }

  /** Finds the running processes. */
  @FunctionalInterface
  private interface Finder {
    Components find() throws IOException;
  }

  private Rest rest(Finder finder) throws IOException, InterruptedException {
    Duration over = settings.kubernetesIdle();
    IdleBenchmark.pass(settings.settle());
    // Only after the settling time: the shim of the last Pod ends a moment after its Pod.
    Components components = finder.find();
    Map<String, Use> before = components.sample();
    IdleBenchmark.pass(over);
    Map<String, Use> after = components.sample();
    Map<String, Double> cpu = new LinkedHashMap<>();
    after.forEach(
        (name, use) ->
            cpu.put(
                name, (use.cpuSeconds() - before.get(name).cpuSeconds()) / over.toMillis() * 1e3));
    return new Rest(after, cpu);
  }

  private static Latencies of(List<Long> nanos) {
    return Latencies.of(nanos.stream().flatMapToLong(LongStream::of));
  }

  // ---- rows

  private void times(
      List<Long> ready,
      List<ScriptedCluster.Start> scripted,
      Latencies pods,
      Latencies adopted,
      Latencies cold,
      Optional<Figures> baseline) {
    report.section("Kubernetes on one node");
    Latencies roles = of(ready);
    Optional<Latencies> steps =
        scripted.isEmpty()
            ? Optional.empty()
            : Optional.of(of(scripted.stream().map(ScriptedCluster.Start::steps).toList()));
    row("both roles added to Node Ready", roles, "steps", steps, aim(8, roles));
    if (!scripted.isEmpty()) {
      Latencies whole = of(scripted.stream().map(ScriptedCluster.Start::whole).toList());
      row("the same", roles, "one after the other", Optional.of(whole), Aim.NONE);
    }
    row("Pod created to Ready", pods, "the same", baseline.map(Figures::pods), aim(0.9, pods));
    row(
        "process started on a running machine, until the proxy says that the Pod is Ready",
        adopted,
        "",
        Optional.empty(),
        Aim.NONE);
    row(
        "power on after an ordered power-off, until the Pod is Ready in a new container",
        cold,
        "one after the other",
        baseline.map(Figures::cold),
        Aim.NONE);
    report.note(
        "Median of %d (least to most), of %d Pods, of %d power-ons; AOT cache, rounds of node and scripts in turn. The time of the roles runs from the call that adds both to a node that is HOME. The scripts' steps are those that a Node object needs: API server, containerd, images, kubelet; \"one after the other\" has the waits between them, and the start of etcd where there is power on. Images are on the node."
            .formatted(settings.starts(), settings.pods(), settings.powerOns()));
  }

  private static Aim aim(double seconds, Latencies measured) {
    return Aim.atMost(seconds, " s", measured.median() / 1e9);
  }

  private void row(
      String what, Latencies measured, String than, Optional<Latencies> baseline, Aim aim) {
    if (baseline.isEmpty()) {
      report.row(what, measured.spread(), aim);
    } else {
      report.row(
          what,
          measured.spread(),
          SCRIPTS + than + ", " + Report.seconds(baseline.get().median()),
          measured.median() / baseline.get().median(),
          aim);
    }
  }

  private void rest(Rest node, Optional<Rest> scripted) {
    report.section("Kubernetes at rest, one Pod");
    rest("memory", "%.0f MiB", use(node), scripted.map(KubernetesBenchmark::use), 0);
    rest("CPU", "%.4f of a core", node.cpu(), scripted.map(Rest::cpu), LEAST_CPU);
    report.note(
        "%d s after the last Pod, CPU over %d s, from /proc (VmRSS). The scripts run no DNS of their own; the node's is a process. The node's JVM and its etcd keep the cluster, too."
            .formatted(settings.settle().toSeconds(), settings.kubernetesIdle().toSeconds()));
  }

  private static Map<String, Double> use(Rest rest) {
    Map<String, Double> memory = new LinkedHashMap<>();
    rest.memory().forEach((name, use) -> memory.put(name, use.mebibytes()));
    return memory;
  }

  private void rest(
      String what,
      String format,
      Map<String, Double> node,
      Optional<Map<String, Double>> scripted,
      double least) {
    node.forEach(
        (name, value) ->
            rest(
                name + ": " + what,
                format,
                value,
                scripted.flatMap(all -> Optional.ofNullable(all.get(name))),
                least));
    ToDoubleFunction<Map<String, Double>> sum =
        all -> all.values().stream().mapToDouble(Double::doubleValue).sum();
    rest(
        "all together: " + what,
        format,
        sum.applyAsDouble(node),
        scripted.map(sum::applyAsDouble),
        least);
  }

  private void rest(
      String what, String format, double value, Optional<Double> baseline, double least) {
    Optional<Double> counted = baseline.filter(each -> each > least);
    if (counted.isEmpty()) {
      report.row(what, Report.number(format, value), Aim.NONE);
      return;
    }
    double ratio = value / counted.get();
    report.row(
        what,
        Report.number(format, value),
        SCRIPTS + Report.number(format, counted.get()),
        ratio,
        Aim.atMost(MORE_USE, " ×", ratio));
  }

  // ---- calls of the API

  private void calls(RoleNode node, ApiAccess direct)
      throws IOException, InterruptedException, ExecutionException {
    report.section("Kubernetes API through the authenticating proxy");
    for (int callers : IN_FLIGHT) {
      try (Connections through = Connections.open(node.proxy(), callers);
          Connections straight = Connections.open(direct, callers)) {
        for (Map.Entry<String, String> read : READS.entrySet()) {
          calls(node, read.getKey(), read.getValue(), through, straight);
        }
      }
    }
    report.note(
        "HTTP/1.1 on kept connections over TLS 1.3, one connection for each call in flight, as the cluster's owner; at the proxy with the certificate of the cluster, at the API server with one of Kubernetes. Rounds in turn, the first of each not counted.");
  }

  private void calls(
      RoleNode node, String what, String path, Connections through, Connections straight)
      throws IOException, InterruptedException, ExecutionException {
    int callers = through.all().size();
    List<Outcome> proxied = new ArrayList<>();
    List<Outcome> direct = new ArrayList<>();
    double cpu = 0;
    // The first round warms up compilers and caches.
    for (int round = 0; round <= settings.rounds(); round++) {
      Outcome one = straight.load(settings.round(), path);
      double before = ProcessSample.of(node.node().pid()).cpuSeconds();
      Outcome other = through.load(settings.round(), path);
      if (round > 0) {
        direct.add(one);
        proxied.add(other);
        cpu += ProcessSample.of(node.node().pid()).cpuSeconds() - before;
      }
    }
    String shown = what + ", " + callers + " in flight";
    Outcome proxy = Outcome.merge(proxied);
    Outcome server = Outcome.merge(direct);
    latency(shown + ", p50", proxy, server, Latencies::median);
    latency(shown + ", p99", proxy, server, Latencies::p99);
    report.row(
        shown + ", CPU of the node's JVM for each",
        Report.number("%.0f µs", cpu / proxy.latencies().count() * 1e6),
        Aim.NONE);
  }

  private void latency(
      String what, Outcome proxy, Outcome server, ToDoubleFunction<Latencies> which) {
    double measured = which.applyAsDouble(proxy.latencies());
    double baseline = which.applyAsDouble(server.latencies());
    report.row(
        what,
        Report.millis(measured),
        "API server: " + Report.millis(baseline),
        measured / baseline,
        Aim.atMost(MORE_LATENCY, " ×", measured / baseline));
  }

  /** Holds one connection for each caller. */
  private record Connections(List<ApiConnection> all) implements AutoCloseable {

    static Connections open(ApiAccess access, int count) throws IOException {
      Connections opened = new Connections(new ArrayList<>());
      try {
        for (int i = 0; i < count; i++) {
          opened.all.add(ApiConnection.open(access));
        }
        return opened;
      } catch (IOException e) {
        opened.close();
        throw e;
      }
    }

    Outcome load(Duration time, String path) throws InterruptedException, ExecutionException {
      return Load.run(all.size(), time, caller -> all.get(caller).get(path));
    }

    @Override
    public void close() {
      all.forEach(ApiConnection::close);
    }
  }

  private static void progress(String what) {
    System.err.println("measuring: " + what);
  }
}
