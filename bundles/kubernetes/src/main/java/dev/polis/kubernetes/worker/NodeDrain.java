package dev.polis.kubernetes.worker;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.kubernetes.client.KubeException;
import dev.polis.logtree.Log;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Drains this node: the node accepts no new Pods, and evicts the present ones, so that their
 * controllers start others elsewhere. Pods of DaemonSets stay until the runtime ends, as with
 * {@code kubectl drain}.
 */
final class NodeDrain {

  /**
   * The time for the drain, a part of the 60 s of a role's end, whose second half comes with
   * interrupts. The end of the kubelet and of the containers gets the same time.
   */
  static final Duration PATIENCE = Duration.ofSeconds(14);

  /** The time for the end of a Pod, which leaves time for Pods that a disruption budget delays. */
  private static final int GRACE_SECONDS = 8;

  private static final Duration PAUSE = Duration.ofMillis(300);

  /** The API server's code while a disruption budget forbids an eviction. */
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

  /** Drains the node as far as possible in the time, and logs the remaining Pods. */
  void run() throws InterruptedException {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    try {
      client.patch(plan.nodePath(), JsonText.object(Map.of("spec", Map.of("unschedulable", true))));
      List<Evicted> left = pods();
      log.info("The role ends: the node evicts %d Pods.", left.size());
      while (!left.isEmpty() && System.nanoTime() < deadline) {
        for (Evicted pod : left) {
          evict(pod);
        }
        Thread.sleep(PAUSE);
        left = pods();
      }
      left.forEach(
          pod ->
              log.warning(
                  "Pod %s/%s was not evicted in time and ends with the runtime.",
                  pod.namespace(), pod.name()));
    } catch (IOException e) {
      log.warning(
          "The node could not evict its Pods: %s. They end with the runtime.", e.getMessage());
    }
  }

  /** Holds the data of a Pod that a drain needs, since a whole Pod may have any size. */
  private record Evicted(String namespace, String name, boolean ends, int grace) {
    static Evicted of(JsonObject pod) {
      JsonObject metadata = pod.getAsJsonObject("metadata");
      JsonElement grace = pod.getAsJsonObject("spec").get("terminationGracePeriodSeconds");
      return new Evicted(
          metadata.get("namespace").getAsString(),
          metadata.get("name").getAsString(),
          metadata.has("deletionTimestamp"),
          grace == null ? GRACE_SECONDS : Math.min(GRACE_SECONDS, grace.getAsInt()));
    }
  }

  /** Returns the Pods of this node to evict. */
  private List<Evicted> pods() throws IOException, InterruptedException {
    List<Evicted> pods = new ArrayList<>();
    client.each(
        "/api/v1/pods?fieldSelector=spec.nodeName%3D" + plan.node(),
        pod -> {
          if (concerns(pod)) {
            pods.add(Evicted.of(pod));
          }
        });
    return pods;
  }

  /** Returns whether the drain evicts a Pod. */
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

  private void evict(Evicted pod) throws IOException, InterruptedException {
    if (pod.ends()) {
      return;
    }
    String name = pod.name();
    String namespace = pod.namespace();
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
                  Map.of("gracePeriodSeconds", pod.grace()))));
    } catch (KubeException e) {
      boolean later = e.code() == TOO_MANY_REQUESTS;
      boolean gone = e.code() == java.net.HttpURLConnection.HTTP_NOT_FOUND;
      if (!later && !gone) {
        throw e;
      }
    }
  }
}
