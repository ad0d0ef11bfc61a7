package dev.polis.metrics;

import dev.polis.api.metrics.MetricsAnswer;
import dev.polis.api.metrics.MetricsExporter;
import dev.polis.api.network.NetworkStatus;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.logtree.Log;
import dev.polis.logtree.convert.LineConverter;
import dev.polis.process.Account;
import dev.polis.process.ChildPlan;
import dev.polis.process.ChildProgram;
import dev.polis.process.LocalHttp;
import dev.polis.process.ManagedProcess;
import dev.polis.process.PortHolder;
import dev.polis.process.ProcessException;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessSpec;
import dev.polis.process.ProcessTask;
import dev.polis.process.ProgramPath;
import dev.polis.process.RunAs;
import dev.polis.rpc.HostPort;
import dev.polis.supervision.Context;
import dev.polis.supervision.Subtree;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/**
 * Provides the machine's metrics, which Prometheus' node exporter reads from the kernel.
 *
 * <p>The exporter is a child process. The first request for its page starts it, so that a node
 * without requests does not pay for it; from then on it runs under supervision and survives this
 * organ. It listens at a loopback address.
 */
final class NodeExporter implements MetricsExporter {

  /** The name of the process and of its runnable. */
  static final String PROCESS = "node-exporter";

  /** The names of the program: Debian's, and that of the project's own archives. */
  private static final List<String> NAMES = List.of("prometheus-node-exporter", "node_exporter");

  /**
   * The time for a page, half of Prometheus' default of 10 s, so that Prometheus gets the reason of
   * a failure.
   */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private static final String SILENT = "node-exporter-silent";

  private static final Duration ANSWER = Duration.ofSeconds(1);

  /** The limits of its silence, which only delays scrapes, each 15 s at most. */
  private static final ChildPlan.Patience SILENCE =
      ChildPlan.Patience.of(Duration.ofSeconds(5), Duration.ofSeconds(9));

  /** The largest page, some forty times that of a machine with a hundred disks and links. */
  private static final int MOST_BYTES = 16 << 20;

  /** Describes the state of the exporter. */
  private sealed interface State {
    /**
     * Means that the exporter does not serve.
     *
     * @param reason the reason, as a message
     */
    record Down(String reason) implements State {}

    /** Means that the exporter serves at this address. */
    record Serving(InetSocketAddress address) implements State {}
  }

  private final MetricsSettings settings;
  private final ProcessManager processes;
  private final Value<NetworkStatus> network;
  private final Subtree subtree;
  private final HealthScope health;
  private final PortHolder ports = new PortHolder();
  private final MutableValue<State> state =
      new MutableValue<>(new State.Down("the node exporter has not been started yet"));
  private boolean started; // guarded by this

  /** Adopts the exporter of an earlier instance, but starts none. */
  NodeExporter(
      MetricsSettings settings,
      ProcessManager processes,
      Value<NetworkStatus> network,
      Subtree subtree,
      HealthScope health) {
    this.settings = settings;
    this.processes = processes;
    this.network = network;
    this.subtree = subtree;
    this.health = health;
    if (processes.records().stream()
        .anyMatch(known -> known.name().equals(PROCESS) && known.alive())) {
      start();
    }
  }

  @Override
  public String exporterName() {
    return "node";
  }

  @Override
  public MetricsAnswer scrape() throws InterruptedException {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    if (program().isEmpty() && !(state.peek().orElseThrow() instanceof State.Serving)) {
      return new MetricsAnswer.Unavailable(missing());
    }
    start();
    return switch (awaitServing(deadline)) {
      case State.Down(String reason) -> new MetricsAnswer.Unavailable(reason);
      case State.Serving(InetSocketAddress address) -> read(address, deadline);
    };
  }

  private String missing() {
    return "this machine has no node exporter: %s; install it (apt-get install prometheus-node-exporter), or set node.exporter of dev.polis.metrics to its path"
        .formatted(
            settings.nodeExporter().isBlank()
                ? "neither " + String.join(" nor ", NAMES) + " is in PATH"
                : "there is no executable at " + settings.nodeExporter());
  }

  private Optional<Path> program() {
    return ProgramPath.find(settings.nodeExporter(), NAMES);
  }

  private synchronized void start() {
    if (!started) {
      started = true;
      subtree.run(PROCESS, this::run);
    }
  }

  private State awaitServing(long deadline) throws InterruptedException {
    try (Watcher<State> watcher = state.watch()) {
      return watcher.get(
          State.Serving.class::isInstance, Duration.ofNanos(deadline - System.nanoTime()));
    } catch (TimeoutException late) {
      return state.peek().orElseThrow();
    }
  }

  private static MetricsAnswer read(InetSocketAddress address, long deadline) {
    try {
      Duration left = Duration.ofNanos(Math.max(1, deadline - System.nanoTime()));
      LocalHttp.Answer answer = LocalHttp.get(address, "/metrics", left, MOST_BYTES);
      return answer.status() == HttpURLConnection.HTTP_OK
          ? new MetricsAnswer.Page(answer.contentType(), answer.body())
          : new MetricsAnswer.Unavailable("the node exporter answers " + answer.status());
    } catch (IOException silent) {
      return new MetricsAnswer.Unavailable(
          "the node exporter at %s does not answer: %s; see the log of root.metrics.%s"
              .formatted(HostPort.of(address), silent.getMessage(), PROCESS));
    }
  }

  private void run(Context context) throws Exception {
    InetSocketAddress address = new InetSocketAddress(loopback(), settings.nodeExporterPort());
    try {
      new ProcessTask(
              processes,
              new ChildPlan(
                  spec(address, context.log()),
                  new Program(address, context.log()),
                  SILENCE,
                  LineConverter.raw()))
          .run(context);
    } catch (ProcessException failed) {
      state.set(new State.Down(failed.getMessage()));
      throw failed;
    } finally {
      health.clear(SILENT);
      if (state.peek().orElseThrow() instanceof State.Serving) {
        state.set(new State.Down("the node exporter was stopped"));
      }
    }
  }

  /** Publishes the state of the exporter. */
  private final class Program implements ChildProgram {

    private final InetSocketAddress address;
    private final Log log;

    Program(InetSocketAddress address, Log log) {
      this.address = address;
      this.log = log;
    }

    @Override
    public boolean ready(ManagedProcess process) throws IOException {
      // An exporter that has ended holds no port; its end has the reason.
      if (!ports.isHeldBy(address.getAddress(), address.getPort(), process.pid())) {
        return false;
      }
      log.info("the node exporter serves at http://%s/metrics", HostPort.of(address));
      state.set(new State.Serving(address));
      return true;
    }

    /** Requests the first page, which costs nothing, unlike the metrics. */
    @Override
    public boolean answers(ManagedProcess process) {
      return LocalHttp.status(address, "/", ANSWER).isPresent();
    }

    @Override
    public String hint(ManagedProcess process) throws IOException {
      return ports
          .conflict(
              address.getAddress(), address.getPort(), "set dev.polis.metrics.node.exporter.port")
          .map(why -> "; %s: %s".formatted(HostPort.of(address), why))
          .orElse("");
    }

    @Override
    public void silent(ManagedProcess process, String text, boolean answered) {
      health.set(HealthCondition.degraded(SILENT, text, SILENCE.remedy()));
    }

    @Override
    public void heard() {
      health.clear(SILENT);
    }
  }

  /**
   * Returns a loopback address of this node: each node of a machine has its own, and so each
   * exporter its port.
   */
  private InetAddress loopback() throws InterruptedException {
    try (Watcher<NetworkStatus> watcher = network.watch()) {
      NetworkStatus.Up here = (NetworkStatus.Up) watcher.get(NetworkStatus.Up.class::isInstance);
      return here.externalAddress().isLoopbackAddress()
          ? here.externalAddress()
          : InetAddress.ofLiteral("127.0.0.1");
    }
  }

  private ProcessSpec spec(InetSocketAddress address, Log log) throws InterruptedException {
    Path program = program().orElseThrow(() -> new ProcessException(missing()));
    ProcessSpec spec =
        ProcessSpec.of(PROCESS, program.toString(), "--web.listen-address=" + HostPort.of(address))
            .withFingerprint(fingerprint(program));
    Optional<String> obstacle = RunAs.obstacle(Account.NODE_EXPORTER.number(), program);
    obstacle.ifPresent(why -> log.warning("the node exporter runs as root: %s", why));
    return obstacle.isPresent() ? spec : spec.withAccount(Account.NODE_EXPORTER.text());
  }

  /** Returns a text that changes with an upgrade, so that the node replaces the old program. */
  private static String fingerprint(Path program) {
    try {
      return Files.size(program) + " " + Files.getLastModifiedTime(program);
    } catch (IOException unreadable) {
      throw new UncheckedIOException("cannot read " + program, unreadable);
    }
  }

  /** Stops the exporter if the reason ends work; called after the close of the subtree. */
  void close(StopReason reason) throws InterruptedException {
    if (reason.endsWork()) {
      processes.stop(PROCESS);
    }
  }
}
