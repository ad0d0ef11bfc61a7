package dev.polis.kubernetes.worker;

import dev.polis.api.containers.ContainersStatus;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.logtree.convert.LineConverter;
import dev.polis.process.LocalHttp;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessSpec;
import dev.polis.process.ProcessTask;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * Runs one of the worker's programs inside the sandbox, once the container runtime serves and the
 * certificates are there.
 */
final class ChildTask implements Task {

  /** A program that is well answers within milliseconds; a probe may take a second at most. */
  private static final Duration ANSWER = Duration.ofSeconds(1);

  private static final int MOST_BYTES = 64 << 10;

  /** Writes what the program reads, and says how it is started. */
  @FunctionalInterface
  interface Preparation {
    ProcessSpec prepare(ContainersStatus.Running runtime) throws IOException, InterruptedException;
  }

  /** Says where a program tells that it is ready. */
  record Health(InetSocketAddress at, String path) {
    boolean ready() {
      try {
        return LocalHttp.get(at, path, ANSWER, MOST_BYTES).status() == HttpURLConnection.HTTP_OK;
      } catch (IOException notYet) {
        return false;
      }
    }
  }

  private final ProcessManager processes;
  private final Value<ContainersStatus> runtime;
  private final Value<WorkerCredentials> credentials;
  private final Preparation preparation;
  private final Health health;
  private final LineConverter converter;

  ChildTask(
      ProcessManager processes,
      Value<ContainersStatus> runtime,
      Value<WorkerCredentials> credentials,
      Preparation preparation,
      Health health,
      LineConverter converter) {
    this.processes = processes;
    this.runtime = runtime;
    this.credentials = credentials;
    this.preparation = preparation;
    this.health = health;
    this.converter = converter;
  }

  @Override
  public void run(Context context) throws Exception {
    try (Watcher<WorkerCredentials> certified = credentials.watch()) {
      certified.get();
    }
    ProcessSpec spec = preparation.prepare(awaitRuntime());
    new ProcessTask(processes, spec, health::ready, converter).run(context);
  }

  private ContainersStatus.Running awaitRuntime() throws InterruptedException {
    try (Watcher<ContainersStatus> watcher = runtime.watch()) {
      return (ContainersStatus.Running) watcher.get(ContainersStatus.Running.class::isInstance);
    }
  }
}
