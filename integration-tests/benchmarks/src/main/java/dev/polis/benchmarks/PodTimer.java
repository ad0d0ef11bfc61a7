package dev.polis.benchmarks;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.kubernetes.client.KubeClient;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import java.util.stream.LongStream;

/** Makes Pods of one loaded image, and measures the time until they are Ready. */
final class PodTimer {

  /** The Pod that stays while other things are started and stopped. */
  static final String LASTING = "lasting";

  private static final String PODS = "/api/v1/namespaces/default/pods";

  /** No Pod is admitted without this account, which appears soon after the API server is ready. */
  private static final String SERVICE_ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts";

  private final ApiAccess access;
  private final String image;

  PodTimer(ApiAccess access, String image) {
    this.access = access;
    this.image = image;
  }

  /** Makes the Pod that stays, and waits until it is Ready. */
  void makeLasting() throws IOException, InterruptedException, TimeoutException {
    try (KubeClient client = access.client();
        ObjectWatch accounts = ObjectWatch.of(access, SERVICE_ACCOUNTS);
        ObjectWatch pods = ObjectWatch.of(access, PODS)) {
      accounts.await(named("default"));
      create(client, LASTING);
      pods.await(ready(LASTING));
    }
  }

  /** Makes Pods one after the other; returns the time from the request to Ready of each. */
  Latencies createdToReady(int count) throws IOException, InterruptedException, TimeoutException {
    List<Long> nanos = new ArrayList<>();
    try (KubeClient client = access.client();
        ObjectWatch pods = ObjectWatch.of(access, PODS)) {
      pods.await(ready(LASTING));
      for (int i = 0; i < count; i++) {
        String name = "timed-" + i;
        long began = System.nanoTime();
        create(client, name);
        nanos.add(pods.await(ready(name)) - began);
        client.delete(PODS + "/" + name);
        pods.awaitGone(name);
      }
    }
    return Latencies.of(nanos.stream().flatMapToLong(LongStream::of));
  }

  private void create(KubeClient client, String name) throws IOException, InterruptedException {
    client.create(
        PODS,
        JsonParser.parseString(
                """
                {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s"},
                 "spec": {"terminationGracePeriodSeconds": 1,
                          "containers": [{"name": "c", "image": "%s", "imagePullPolicy": "Never"}]}}
                """
                    .formatted(name, image))
            .getAsJsonObject());
  }

  /** Returns the identity of the container of the Pod that stays. */
  String lastingContainer() throws InterruptedException, TimeoutException {
    try (ObjectWatch pods = ObjectWatch.of(access, PODS)) {
      pods.await(ready(LASTING));
      return container(pods.object(LASTING));
    }
  }

  /** Waits until the API reports the staying Pod as Ready; returns the time. */
  long awaitLasting() throws InterruptedException, TimeoutException {
    try (ObjectWatch pods = ObjectWatch.of(access, PODS)) {
      return pods.await(ready(LASTING));
    }
  }

  /** Waits until the staying Pod is Ready with another container; returns the time. */
  long awaitOtherContainer(String before) throws InterruptedException, TimeoutException {
    try (ObjectWatch pods = ObjectWatch.of(access, PODS)) {
      return pods.await(pod -> ready(LASTING).test(pod) && !container(pod).equals(before));
    }
  }

  private static Predicate<JsonObject> ready(String name) {
    return named(name).and(ObjectWatch::ready);
  }

  private static Predicate<JsonObject> named(String name) {
    return object -> object.getAsJsonObject("metadata").get("name").getAsString().equals(name);
  }

  private static String container(JsonObject pod) {
    return pod.getAsJsonObject("status")
        .getAsJsonArray("containerStatuses")
        .get(0)
        .getAsJsonObject()
        .get("containerID")
        .getAsString();
  }
}
