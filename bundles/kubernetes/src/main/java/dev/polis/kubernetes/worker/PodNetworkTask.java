package dev.polis.kubernetes.worker;

import com.google.gson.JsonObject;
import dev.polis.api.containers.Containers;
import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.Sandbox;
import dev.polis.base.values.Value;
import dev.polis.base.values.Values;
import dev.polis.base.values.Watcher;
import dev.polis.files.FileException;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.health.RestoredNotice;
import dev.polis.logtree.Log;
import dev.polis.process.Commands;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

/**
 * Gives the runtime and this machine the addresses of the node's Pods, once the controller manager
 * has assigned them.
 */
final class PodNetworkTask implements Task {

  /**
   * The time for one request to the kernel: a thousand times the usual, for a machine under load.
   */
  private static final Duration ANSWER = Duration.ofSeconds(10);

  /**
   * The interval of checks: without the configuration the next Pod fails, and a check reads one
   * file.
   */
  private static final Duration LOOK_EVERY = Duration.ofSeconds(10);

  private static final String RESTORED = "pod-network-restored";

  /** The kernel's switch for packets to other machines, in the network of this process. */
  private static final Path FORWARDING = Path.of("/proc/sys/net/ipv4/ip_forward");

  private final Containers containers;
  private final WorkerPlan plan;
  private final WorkerFiles files;
  private final Value<Optional<JsonObject>> node;
  private final HealthScope health;
  private final RestoredNotice restored;
  private final Commands commands = new Commands();

  PodNetworkTask(
      Containers containers,
      WorkerPlan plan,
      WorkerFiles files,
      Value<Optional<JsonObject>> node,
      HealthScope health) {
    this.containers = containers;
    this.plan = plan;
    this.files = files;
    this.node = node;
    this.health = health;
    this.restored =
        new RestoredNotice(
            text -> HealthCondition.up(RESTORED, text), health, InstantSource.system());
  }

  @Override
  public void run(Context context) throws Exception {
    context.healthy();
    Value<Optional<String>> range = Values.map(node, now -> now.flatMap(NodeObject::podRange));
    PodBridge bridge = new PodBridge(this::ip, health);
    try (Watcher<Optional<String>> watcher = range.watch()) {
      String known = "";
      boolean fits = true;
      while (true) {
        String before = known;
        try {
          known =
              watcher
                  .get(now -> now.isPresent() && !now.get().equals(before), LOOK_EVERY)
                  .orElseThrow();
          apply(known);
          fits = bridge.renew(known, context.log());
          context.log().info("Pods of this node have the addresses %s.", known);
        } catch (TimeoutException unchanged) {
          restore(known, context.log());
          if (!known.isEmpty()) {
            restoreForwarding(FORWARDING, context.log());
          }
          restored.look();
          fits = fits || bridge.renew(known, context.log());
        }
      }
    } finally {
      bridge.close();
      restored.close();
    }
  }

  private Commands.Result ip(List<String> arguments) throws IOException, InterruptedException {
    List<String> command = Stream.concat(Stream.of("ip"), arguments.stream()).toList();
    return commands.run(ANSWER, awaitSandbox().command(Commands.located(command)));
  }

  /** Restores a configuration that something else has changed or removed. */
  void restore(String range, Log log) throws FileException {
    if (!range.isEmpty() && PodNetworkFiles.write(files.network(), range)) {
      restored.tell(
          "the CNI configuration in %s was changed or removed by something else, and the node has written it again"
              .formatted(files.network()),
          log);
    }
  }

  /**
   * Lets a machine without a sandbox forward the packets of its Pods again. Its administrator's
   * files may switch that off at any time; a sandbox has a network of its own.
   */
  void restoreForwarding(Path forwarding, Log log) throws IOException {
    if (forwards(forwarding)) {
      return;
    }
    restored.tell(
        "something else switched off that this machine forwards packets (net.ipv4.ip_forward), without which its Pods reach nothing, and the node has switched it on again; 'grep -r ip_forward /etc/sysctl*' may show what did it",
        log);
  }

  /** Switches forwarding on, and returns whether it was on. */
  private boolean forwards(Path forwarding) throws IOException {
    boolean on =
        plan.isolation() == Isolation.NAMESPACES || Files.readString(forwarding).startsWith("1");
    if (!on) {
      Files.writeString(forwarding, "1");
    }
    return on;
  }

  private void apply(String range) throws IOException, InterruptedException {
    Sandbox sandbox = awaitSandbox();
    PodNetworkFiles.write(files.network(), range);
    forwards(FORWARDING);
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

  /** Adds a route to the Pods, since the API server calls Pods that extend its API. */
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

  /**
   * Refuses a range with another route: to replace that route would silently cut off other Pods.
   */
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

  /** Returns the first route to another device. */
  static Optional<String> otherRoute(String routes, String device) {
    return routes
        .lines()
        .map(String::strip)
        .filter(line -> !line.isEmpty())
        .filter(line -> !List.of(line.split(" ")).contains(device))
        .findFirst();
  }
}
