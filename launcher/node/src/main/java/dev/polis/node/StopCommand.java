package dev.polis.node;

import dev.polis.node.exit.Exit;
import dev.polis.node.exit.Refusal;
import dev.polis.node.exit.RootCause;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Powers nodes off: one, or all nodes of a cluster on this machine. */
@Command(
    name = "stop",
    mixinStandardHelpOptions = true,
    description =
        "Power a node off: stop it, its children and its mounts. It ends within two minutes, also if the node hangs.")
final class StopCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Option(
      names = "--state",
      required = true,
      paramLabel = "DIR",
      description = "State directory of the node; may be repeated for several nodes.")
  private List<Path> states;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      description =
          "How long the node may take; then its process is ended, and its children from here. Default: ${DEFAULT-VALUE}.")
  private long timeout = NodeStop.defaultTimeout();

  @Option(
      names = "--anyway",
      description = "Power off even if no key opens the data volume afterwards.")
  private boolean anyway;

  @Override
  public Integer call() throws Exception {
    List<NodeStop> stops = states.stream().map(this::stop).toList();
    for (NodeStop stop : stops) {
      stop.requireState();
      if (!anyway) {
        stop.confirmLockOut();
      }
    }
    if (stops.size() == 1) {
      stops.getFirst().run();
    } else {
      all(stops);
    }
    return Exit.OK;
  }

  private NodeStop stop(Path state) {
    NodeDirectory directory = NodeDirectory.of(state);
    String prefix = states.size() == 1 ? "" : directory.root() + ": ";
    return new NodeStop(directory, timeout, prefix, err());
  }

  private PrintWriter err() {
    return spec.commandLine().getErr();
  }

  /**
   * Stops all at the same time, since the last one alone would have no quorum for its end. A
   * failure of one lets the others end; the first failure becomes the last line.
   */
  private void all(List<NodeStop> stops) throws Refusal, InterruptedException {
    Map<NodeStop, Future<Void>> running = new LinkedHashMap<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      stops.forEach(stop -> running.put(stop, threads.submit(action(stop))));
    }
    List<Refusal> failures = new ArrayList<>();
    for (Map.Entry<NodeStop, Future<Void>> each : running.entrySet()) {
      try {
        each.getValue().get();
      } catch (ExecutionException e) {
        failures.add(failure(each.getKey(), e.getCause()));
      }
    }
    failures.stream().skip(1).forEach(each -> err().println("polis: " + each.getMessage()));
    if (!failures.isEmpty()) {
      throw failures.getFirst();
    }
  }

  private static Refusal failure(NodeStop stop, Throwable cause) {
    int code = cause instanceof Refusal refusal ? refusal.exitCode() : Exit.FAILED;
    return new Refusal(code, stop.prefix() + RootCause.of(cause), cause);
  }

  private static Callable<Void> action(NodeStop stop) {
    return () -> {
      stop.run();
      return null;
    };
  }
}
