package dev.polis.kubernetes.worker;

import com.google.gson.JsonObject;
import dev.polis.base.backoff.Backoff;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/** Watches this node's Node object and publishes it; empty if there is none. */
final class NodeWatch implements Task {

  // Short, because the node waits for a starting API server.
  private static final Duration FIRST_PAUSE = Duration.ofMillis(200);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

  private final KubeClient client;
  private final WorkerPlan plan;
  private final Value<WorkerCredentials> credentials;
  private final MutableValue<Optional<JsonObject>> node;

  NodeWatch(
      KubeClient client,
      WorkerPlan plan,
      Value<WorkerCredentials> credentials,
      MutableValue<Optional<JsonObject>> node) {
    this.client = client;
    this.plan = plan;
    this.credentials = credentials;
    this.node = node;
  }

  @Override
  public void run(Context context) throws InterruptedException {
    context.healthy();
    try (Watcher<WorkerCredentials> certified = credentials.watch()) {
      certified.get();
    }
    Backoff backoff = new Backoff(FIRST_PAUSE, LONGEST_PAUSE);
    while (true) {
      try {
        follow(backoff);
      } catch (IOException e) {
        context.log().info("the watch of the Node object ended: %s", e.getMessage());
      }
      backoff.pause();
    }
  }

  private void follow(Backoff backoff) throws IOException, InterruptedException {
    String mine = "/api/v1/nodes?fieldSelector=metadata.name%3D" + plan.node();
    JsonObject list = client.list(mine);
    backoff.reset();
    node.set(KubeClient.items(list).stream().findFirst());
    String version = list.getAsJsonObject("metadata").get("resourceVersion").getAsString();
    client.watch(mine + "&resourceVersion=" + version, this::accept);
  }

  private void accept(JsonObject event) {
    switch (event.get("type").getAsString()) {
      case "ADDED", "MODIFIED" -> node.set(Optional.of(event.getAsJsonObject("object")));
      case "DELETED" -> node.set(Optional.empty());
      default -> {
        // A bookmark has no object, and after an error the server ends the watch.
      }
    }
  }
}
