package dev.polis.ctl;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.Document.Column;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.NodeState;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Says whether the cluster is well. */
@Command(
    name = "health",
    description = "Checks every node of the cluster. Exit code 5 if one is not healthy.",
    mixinStandardHelpOptions = true)
final class HealthCommand implements Callable<Integer> {

  /** Health changes with heartbeats, which come every 2.5 s. */
  private static final Duration LOOK_AGAIN = Duration.ofMillis(500);

  @ParentCommand Ctl ctl;
  @Spec CommandSpec spec;

  @Option(
      names = "--wait",
      paramLabel = "SECONDS",
      description = "wait this long for the cluster to become healthy (default: do not wait)")
  int wait;

  @Override
  public Integer call() throws InterruptedException {
    CtlOptions.requireAtLeast(0, wait, "--wait");
    long deadline = System.nanoTime() + Duration.ofSeconds(wait).toNanos();
    List<Node> nodes = fetch();
    while (!healthy(nodes) && System.nanoTime() < deadline) {
      spec.commandLine().getErr().println("waiting: " + worst(nodes));
      Thread.sleep(LOOK_AGAIN);
      nodes = fetch();
    }
    ctl.options.output.print(report(nodes), spec.commandLine().getOut());
    return (healthy(nodes) ? ExitCode.OK : ExitCode.NOT_MET).code();
  }

  private List<Node> fetch() throws InterruptedException {
    try (Session session = Session.open(ctl.options)) {
      return NodeRows.fetch(session, "");
    }
  }

  private static boolean healthy(List<Node> nodes) {
    return !nodes.isEmpty() && nodes.stream().allMatch(HealthCommand::healthy);
  }

  private static boolean healthy(Node node) {
    return node.getState() == NodeState.NODE_STATE_UP
        && node.getHealth() == Node.Health.HEALTH_HEALTHY;
  }

  private static String worst(List<Node> nodes) {
    return nodes.stream()
        .filter(node -> !healthy(node))
        .map(node -> node.getId() + " is " + reason(node))
        .findFirst()
        .orElse("the cluster has no nodes");
  }

  private static Document report(List<Node> nodes) {
    JsonArray rows = new JsonArray();
    for (Node node : nodes) {
      JsonObject row = new JsonObject();
      row.addProperty("id", node.getId());
      row.addProperty("healthy", healthy(node));
      row.addProperty("reason", reason(node));
      rows.add(row);
    }
    return Document.rows(
        rows,
        Column.of("NODE ID", "id"),
        Column.of("HEALTHY", "healthy"),
        Column.of("REASON", "reason"));
  }

  private static String reason(Node node) {
    String state = WireName.shortened(node.getState());
    if (node.getState() != NodeState.NODE_STATE_UP) {
      return state;
    }
    return switch (node.getHealth()) {
      case HEALTH_HEALTHY ->
          "UP, heartbeat %d s ago".formatted(node.getTimeSinceHeartbeat().getSeconds());
      case HEALTH_HEARTBEAT_TIMEOUT ->
          node.hasTimeSinceHeartbeat()
              ? "UP, but silent for %d s".formatted(node.getTimeSinceHeartbeat().getSeconds())
              : "UP, but not heard of since the present leader leads";
      case HEALTH_UNKNOWN -> "UP, and the leader is too young to know";
      case HEALTH_INVALID, UNRECOGNIZED -> "UP, health " + node.getHealthValue();
    };
  }
}
