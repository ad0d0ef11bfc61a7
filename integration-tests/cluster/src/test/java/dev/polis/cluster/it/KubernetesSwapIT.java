package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.RunningProcess;
import dev.polis.fixtures.Tier;
import dev.polis.wire.plugins.SwapProgress;
import dev.polis.wire.plugins.SwapProgress.Outcome;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * Replaces the code that runs Kubernetes, and kills its process, while Pods serve and the API is
 * called, without a disturbance, once each; {@code polis test --long} does it 10 times.
 */
@Tag("full")
@Tag("alone")
@Tag("longer")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class KubernetesSwapIT {

  private static final int TIMES = Tier.pick(1, 1, 10);

  /** The longest time in which a swap of the bundle leaves users without an answer. */
  private static final Duration PAUSE = Duration.ofMillis(200);

  /**
   * The most further swaps while none was within that time. A pause of the node comes in each swap,
   * a pause of the machine does not.
   */
  private static final int MORE = 3;

  private static final List<String> CHILDREN =
      List.of(
          "kube-apiserver",
          "kube-controller-manager",
          "kube-scheduler",
          "kubelet",
          "kube-proxy",
          "coredns",
          "containerd");

  private static final int NODE_PORT = 30080;

  private static final String WEB =
      """
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: 3
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec:
            terminationGracePeriodSeconds: 1
            containers:
            - name: web
              image: %s
              imagePullPolicy: Never
              command: [sh, -c, "mkdir /www; hostname > /www/index.html; exec httpd -f -p 8080 -h /www"]
              readinessProbe: {httpGet: {path: /index.html, port: 8080}, periodSeconds: 1}
      ---
      apiVersion: v1
      kind: Service
      metadata: {name: web}
      spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: 8080, nodePort: %d}]}
      """
          .formatted(BusyboxImage.NAME, NODE_PORT);

  @TempDir static Path directory;
  private static KubernetesNode node;
  private static OwnerApi owner;
  private static PackedPlugins plugins;
  private static URI service;

  @BeforeAll
  static void start() throws Exception {
    KubernetesNode.assumeSupported();
    node = KubernetesNode.started(directory.resolve("n"), "127.0.62.1");
    node.awaitReady();
    node.loadImages(BusyboxImage.write(node.program("busybox"), directory.resolve("image")));
    node.apply(WEB);
    node.said("rollout", "status", "deployment/web", "--timeout=120s");
    String worker =
        node.said(
            "get",
            "nodes",
            "-o",
            "jsonpath={.items[0].status.addresses[?(@.type==\"InternalIP\")].address}");
    service = URI.create("http://%s:%d/".formatted(worker, NODE_PORT));
    Await.until(KubernetesNode.PATIENCE, "the Service to answer", () -> PodLoad.answers(service));
    owner = OwnerApi.of(node.node());
    plugins = PackedPlugins.of(node.node(), directory.resolve("plugins"));
  }

  @AfterAll
  static void stop() {
    if (owner != null) {
      owner.close();
    }
    if (node != null) {
      node.close();
    }
  }

  /** Some seconds, since each check calls the API server twice. */
  private static final int SNAPSHOTS = 20;

  /** The state that must be the same afterwards. */
  private record Before(
      Set<RunningProcess> pods, Map<String, List<Long>> children, String restarts, String ready) {

    /** Reads until two results in a row are the same, since shims have short-lived children. */
    static Before settled() throws Exception {
      Before last = now();
      Before next = now();
      for (int more = 0; more < SNAPSHOTS && !next.equals(last); more++) {
        last = next;
        next = now();
      }
      return next;
    }

    private static Before now() throws Exception {
      return new Before(node.podProcesses(), processes(), restartCounts(), lastReady());
    }

    private static Map<String, List<Long>> processes() {
      Map<String, List<Long>> found = new TreeMap<>();
      for (String program : CHILDREN) {
        List<Long> pids =
            node.node().children(program).stream().map(ProcessHandle::pid).sorted().toList();
        assertTrue(!pids.isEmpty(), "no " + program + " runs");
        found.put(program, pids);
      }
      return found;
    }

    private static String restartCounts() throws Exception {
      return node.said(
          "get",
          "pods",
          "-A",
          "-o",
          "jsonpath={range .items[*]}{.metadata.name}={.status.containerStatuses[*].restartCount} {end}");
    }

    /** Returns the last changes of the readiness of the node and of its Pods. */
    private static String lastReady() throws Exception {
      StringBuilder times = new StringBuilder();
      for (String kind : List.of("nodes", "pods")) {
        for (JsonElement item : node.json("get", kind, "-A").getAsJsonArray("items")) {
          JsonObject object = item.getAsJsonObject();
          for (JsonElement each : object.getAsJsonObject("status").getAsJsonArray("conditions")) {
            JsonObject condition = each.getAsJsonObject();
            if (condition.get("type").getAsString().equals("Ready")) {
              times
                  .append(object.getAsJsonObject("metadata").get("name").getAsString())
                  .append(' ')
                  .append(condition.get("status").getAsString())
                  .append(' ')
                  .append(condition.get("lastTransitionTime").getAsString())
                  .append('\n');
            }
          }
        }
      }
      return times.toString();
    }
  }

  @Test
  @DisplayName(
      "the node's process is killed repeatedly: Pods, their managers and their readiness stay")
  void killed() throws Exception {
    Before before = Before.settled();
    try (PodLoad load = PodLoad.on(service);
        KubernetesCaller server = KubernetesCaller.atServer(node)) {
      for (int kill = 0; kill < TIMES; kill++) {
        node.node().killJvm();
        node.up();
      }
      String what = TIMES + " kills of the node's process";
      requireUntouched(before, load, what);
      server.requireNoFreeze(what);
    }
  }

  @Test
  @DisplayName(
      "the bundle kubernetes is swapped repeatedly: Pods, their managers and readiness stay, the API at 6443 and 6444 answers within 2 s, at 6444 within 200 ms in the quietest swap")
  void kubernetesSwapped() throws Exception {
    requireSwapped("dev.polis.kubernetes");
  }

  @Test
  @DisplayName(
      "the bundle containers is swapped repeatedly: Pods, their managers and readiness stay, the API at 6443 and 6444 answers within 2 s")
  void containersSwapped() throws Exception {
    requireSwapped("dev.polis.containers");
  }

  @Test
  @Order(Integer.MAX_VALUE)
  @DisplayName("polis down after a kill of the node ends all Pods and leaves nothing behind")
  void down() throws Exception {
    node.requireWholeStop(true);
  }

  private static void requireSwapped(String bundle) throws Exception {
    Before before = Before.settled();
    PluginCalls calls = owner.plugins();
    List<String> digests = new ArrayList<>();
    for (String version : List.of("0.2.1", "0.2.2")) {
      digests.add(calls.stage(plugins.version(bundle, version)));
    }
    MachineSpeed speed = MachineSpeed.measure();
    List<Duration> pauses = new ArrayList<>();
    try (PodLoad load = PodLoad.on(service);
        KubernetesCaller proxy = KubernetesCaller.atProxy(node);
        KubernetesCaller server = KubernetesCaller.atServer(node)) {
      while (pauses.size() < TIMES
          || shortest(pauses).compareTo(PAUSE) > 0 && pauses.size() < TIMES + MORE) {
        proxy.awaitAnswer("before a swap of " + bundle);
        proxy.endPeriod();
        SwapProgress end = calls.swap(digests.get(pauses.size() % digests.size()), stage -> {});
        assertEquals(Outcome.OUTCOME_APPLIED, end.getOutcome(), end::toString);
        proxy.awaitAnswer("after a swap of " + bundle);
        pauses.add(proxy.endPeriod());
      }
      String what = "%d swaps of %s, with pauses %s".formatted(pauses.size(), bundle, pauses);
      speed.assertWithin(
          what + ", API at 6444; the next one came in the shortest", PAUSE, shortest(pauses));
      requireUntouched(before, load, what);
      proxy.requireNoFreeze(what);
      server.requireNoFreeze(what);
    }
  }

  private static Duration shortest(List<Duration> pauses) {
    return pauses.stream().min(Duration::compareTo).orElseThrow();
  }

  private static void requireUntouched(Before before, PodLoad load, String what) throws Exception {
    long answered = load.answered();
    Await.until(
        KubernetesNode.PATIENCE,
        "requests to be answered after " + what,
        () -> load.answered() > answered + 50);
    load.requireServed(what);
    Before after = Before.settled();
    assertEquals(before, after, what);
    System.out.printf("%s: %s%n", what, load);
  }
}
