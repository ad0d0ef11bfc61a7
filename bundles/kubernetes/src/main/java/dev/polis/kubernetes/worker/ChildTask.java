package dev.polis.kubernetes.worker;

import dev.polis.api.containers.ContainersStatus;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.health.HealthRegistry;
import dev.polis.kubernetes.control.ControlProbe;
import dev.polis.kubernetes.control.ControlProcess;
import dev.polis.logtree.convert.LineConverter;
import dev.polis.process.LocalHttp;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessSpec;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;

/**
 * Runs one of the worker's programs inside the sandbox, once the container runtime serves and the
 * certificates and its other files exist. It adopts a running program without a wait, and restarts
 * a silent one.
 */
record ChildTask(
    ProcessManager processes,
    Value<ContainersStatus> runtime,
    Value<WorkerCredentials> credentials,
    Preparation preparation,
    ApiServerWait api,
    Probe probe,
    HealthRegistry health,
    LineConverter converter)
    implements Task {

  /** The time for an answer to a probe; a healthy program answers within milliseconds. */
  private static final Duration ANSWER = Duration.ofSeconds(1);

  /** Writes the program's files, and returns the description of its process. */
  @FunctionalInterface
  interface Preparation {
    ProcessSpec prepare(ContainersStatus.Running runtime) throws IOException, InterruptedException;
  }

  /**
   * Checks a program over HTTP.
   *
   * @param path the path that returns 200 once the program works
   */
  record Probe(InetSocketAddress at, String path) implements ControlProbe {
    @Override
    public boolean ready() {
      return status().filter(code -> code == HttpURLConnection.HTTP_OK).isPresent();
    }

    @Override
    public boolean alive() {
      return status().isPresent();
    }

    private Optional<Integer> status() {
      return LocalHttp.status(at, path, ANSWER);
    }
  }

  @Override
  public void run(Context context) throws Exception {
    try (Watcher<WorkerCredentials> certified = credentials.watch()) {
      certified.get();
    }
    ProcessSpec spec = preparation.prepare(awaitRuntime());
    if (!processes.lives(spec.name()) && !api.await()) {
      context.log().info("the node starts %s, although no API server is ready", spec.name());
    }
    new ControlProcess(processes, spec, probe, health, WorkerService.ROLE, converter).run(context);
  }

  private ContainersStatus.Running awaitRuntime() throws InterruptedException {
    try (Watcher<ContainersStatus> watcher = runtime.watch()) {
      return (ContainersStatus.Running) watcher.get(ContainersStatus.Running.class::isInstance);
    }
  }
}
