package dev.polis.kubernetes.worker;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.kubernetes.client.KubeException;
import dev.polis.logtree.Log;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Drains this node: it accepts no new Pods and evicts the present ones, so that their controllers
 * start others elsewhere. Pods of DaemonSets stay, as with {@code kubectl drain}; they end with the
 * runtime.
 */
final class NodeDrain {

  /**
   * A role has 60 s to end, the second half of them with interrupts. The end of the kubelet and of
   * the containers gets as much time as this.
   */
  static final Duration PATIENCE = Duration.ofSeconds(14);

  /** The time that a Pod has to end; it leaves time for Pods that a disruption budget delays. */
  private static final int GRACE_SECONDS = 8;

  private static final Duration PAUSE = Duration.ofMillis(300);

  /** The code of an API server if a disruption budget forbids an eviction for now. */
  private static final int TOO_MANY_REQUESTS = 429;

  private static final String MIRROR = "kubernetes.io/config.mirror";

  private final KubeClient client;
  private final WorkerPlan plan;
  private final Log log;

  NodeDrain(KubeClient client, WorkerPlan plan, Log log) {
    this.client = client;
    this.plan = plan;
    this.log = log;
  }

  /** Drains the node as far as the time allows; logs the remaining Pods. */
  void run() throws InterruptedException {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    try {
      client.patch(plan.nodePath(), JsonText.object(Map.of("spec", Map.of("unschedulable", true))));
      List<JsonObject> left = pods();
      log.info("The role ends: the node evicts %d Pods.", left.size());
      while (!left.isEmpty() && System.nanoTime() < deadline) {
        for (JsonObject pod : left) {
          evict(pod);
        }
        Thread.sleep(PAUSE);
        left = pods();
      }
      left.forEach(
          pod ->
              log.warning("Pod %s was not evicted in time and ends with the runtime.", name(pod)));
    } catch (IOException e) {
      log.warning(
          "The node could not evict its Pods: %s. They end with the runtime.", e.getMessage());
    }
  }

  /** Returns the Pods of this node that a drain concerns. */
  private List<JsonObject> pods() throws IOException, InterruptedException {
    JsonObject list = client.list("/api/v1/pods?fieldSelector=spec.nodeName%3D" + plan.node());
    return KubeClient.items(list).stream().filter(NodeDrain::concerns).toList();
  }

  /** Returns whether a Pod is to be evicted. */
  static boolean concerns(JsonObject pod) {
    JsonObject metadata = pod.getAsJsonObject("metadata");
    boolean mirror =
        metadata.has("annotations") && metadata.getAsJsonObject("annotations").has(MIRROR);
    JsonArray owners =
        metadata.has("ownerReferences")
            ? metadata.getAsJsonArray("ownerReferences")
            : new JsonArray();
    boolean daemon =
        owners.asList().stream()
            .map(JsonElement::getAsJsonObject)
            .anyMatch(owner -> owner.get("kind").getAsString().equals("DaemonSet"));
    return !mirror && !daemon;
  }

  private void evict(JsonObject pod) throws IOException, InterruptedException {
    JsonObject metadata = pod.getAsJsonObject("metadata");
    if (metadata.has("deletionTimestamp")) {
      return;
    }
    String name = metadata.get("name").getAsString();
    String namespace = metadata.get("namespace").getAsString();
    try {
      client.create(
          "/api/v1/namespaces/%s/pods/%s/eviction".formatted(namespace, name),
          JsonText.object(
              Map.of(
                  "apiVersion",
                  "policy/v1",
                  "kind",
                  "Eviction",
                  "metadata",
                  Map.of("name", name, "namespace", namespace),
                  "deleteOptions",
                  Map.of("gracePeriodSeconds", grace(pod)))));
    } catch (KubeException e) {
      boolean later = e.code() == TOO_MANY_REQUESTS;
      boolean gone = e.code() == java.net.HttpURLConnection.HTTP_NOT_FOUND;
      if (!later && !gone) {
        throw e;
      }
    }
  }

  private static int grace(JsonObject pod) {
    JsonElement own = pod.getAsJsonObject("spec").get("terminationGracePeriodSeconds");
    return own == null ? GRACE_SECONDS : Math.min(GRACE_SECONDS, own.getAsInt());
  }

  private static String name(JsonObject pod) {
    JsonObject metadata = pod.getAsJsonObject("metadata");
    return metadata.get("namespace").getAsString() + "/" + metadata.get("name").getAsString();
  }
}
