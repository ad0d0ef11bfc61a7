package dev.polis.kubernetes.worker;

import com.google.gson.JsonObject;
import dev.polis.api.containers.Containers;
import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.Sandbox;
import dev.polis.base.values.Value;
import dev.polis.base.values.Values;
import dev.polis.base.values.Watcher;
import dev.polis.process.Commands;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Gives the runtime and this machine the addresses of the node's Pods, once the controller manager
 * has assigned them.
 */
final class PodNetworkTask implements Task {

  /** The kernel answers at once; this allows a machine under load a thousand times that. */
  private static final Duration ANSWER = Duration.ofSeconds(10);

  private final Containers containers;
  private final WorkerPlan plan;
  private final WorkerFiles files;
  private final Value<Optional<JsonObject>> node;
  private final Commands commands = new Commands();

  PodNetworkTask(
      Containers containers, WorkerPlan plan, WorkerFiles files, Value<Optional<JsonObject>> node) {
    this.containers = containers;
    this.plan = plan;
    this.files = files;
    this.node = node;
  }

  @Override
  public void run(Context context) throws Exception {
    context.healthy();
    Value<Optional<String>> range = Values.map(node, now -> now.flatMap(NodeObject::podRange));
    try (Watcher<Optional<String>> watcher = range.watch()) {
      String known = "";
      while (true) {
        String before = known;
        known = watcher.get(now -> now.isPresent() && !now.get().equals(before)).orElseThrow();
        apply(known);
        context.log().info("Pods of this node have the addresses %s.", known);
      }
    }
  }

  private void apply(String range) throws IOException, InterruptedException {
    Sandbox sandbox = awaitSandbox();
    PodNetworkFiles.write(files.network(), range);
    if (sandbox.request().isolation() == Isolation.NAMESPACES) {
      routeTo(range, sandbox);
    }
  }

  private Sandbox awaitSandbox() throws InterruptedException {
    try (Watcher<ContainersStatus> watcher = containers.status().watch()) {
      return ((ContainersStatus.Running) watcher.get(ContainersStatus.Running.class::isInstance))
          .sandbox();
    }
  }

  /** Lets this machine reach Pods: the API server calls those that add to its API. */
  private void routeTo(String range, Sandbox sandbox) throws IOException, InterruptedException {
    requireFree(range, sandbox);
    Commands.Result result =
        commands.run(
            ANSWER,
            List.of(
                "ip",
                "route",
                "replace",
                range,
                "via",
                sandbox.address().getHostAddress(),
                "dev",
                sandbox.hostDevice(),
                "src",
                plan.addresses().host().getHostAddress(),
                "onlink"));
    if (!result.ok()) {
      throw new IOException(
          "this machine has no route to its Pods at %s: %s".formatted(range, result.words()));
    }
  }

  /** Taking over the route would silently cut off the Pods of another node. */
  private void requireFree(String range, Sandbox sandbox) throws IOException, InterruptedException {
    Commands.Result routes =
        commands.run(ANSWER, List.of("ip", "-4", "-oneline", "route", "show", "exact", range));
    if (!routes.ok()) {
      throw new IOException(
          "the node cannot read the routes of this machine: %s".formatted(routes.words()));
    }
    Optional<String> other = otherRoute(routes.output(), sandbox.hostDevice());
    if (other.isPresent()) {
      throw new IOException(
          "this machine routes the addresses of Pods, %s, to another place (%s), because another node runs on it; give this cluster its own range with dev.polis.kubernetes.pod.range"
              .formatted(range, other.get()));
    }
  }

  /** Returns the first route that leads to another device. */
  static Optional<String> otherRoute(String routes, String device) {
    return routes
        .lines()
        .map(String::strip)
        .filter(line -> !line.isEmpty())
        .filter(line -> !List.of(line.split(" ")).contains(device))
        .findFirst();
  }
}
