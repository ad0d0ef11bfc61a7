package dev.polis.kubernetes.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.base.values.MutableValue;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.health.HealthScope;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Judges Pods and events in the form in which an API server lists them. */
class PodHealthTest {

  private static final Instant SCHEDULED = Instant.parse("2030-01-01T10:00:00Z");
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final NodeId NODE = NodeId.of(Ed25519.generate().getPublic());

  private static final String PULL =
      "Back-off pulling image \"a.example/b:1\": ErrImagePull: rpc error: code = Unknown desc = failed to"
          + " pull and unpack image \"a.example/b:1\": ";
  private static final String SANDBOX =
      "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for"
          + " sandbox \"0011223344556677889900112233445566778899001122334455667788990011\": ";

  private final Map<String, JsonObject> pods = new TreeMap<>();
  private final Map<String, List<JsonObject>> events = new TreeMap<>();
  private final List<String> read = new ArrayList<>();
  private final Conditions health = new Conditions();
  private final Log log = LogTree.create().log("test");
  private boolean away;
  private Instant now = SCHEDULED.plus(PATIENCE);
  private final PodHealth judge =
      new PodHealth(
          new PodHealth.Reader(this::pods, this::events, NODE),
          new MutableValue<>(),
          health,
          PATIENCE,
          () -> now);

  /** Keeps the conditions that stand. */
  private static final class Conditions implements HealthScope {
    private final Map<String, HealthCondition> standing = new ConcurrentHashMap<>();

    @Override
    public void set(HealthCondition condition) {
      standing.put(condition.code(), condition);
    }

    @Override
    public void clear(String code) {
      standing.remove(code);
    }

    @Override
    public void close() {
      standing.clear();
    }
  }

  private void pods(String path, KubeClient.Taker taker) throws IOException, InterruptedException {
    if (away) {
      throw new IOException("no connection to the API server");
    }
    read.add(path);
    for (JsonObject pod : pods.values()) {
      taker.take(pod.deepCopy());
    }
  }

  private List<JsonObject> events(String path) {
    read.add(path);
    return events.entrySet().stream()
        .filter(each -> path.contains("involvedObject.uid%3Duid-" + each.getKey() + "%2C"))
        .flatMap(each -> each.getValue().stream())
        .toList();
  }

  private static JsonObject json(String text) {
    return JsonParser.parseString(text).getAsJsonObject();
  }

  /** Adds a Pod that is assigned to this node and has not started. */
  private JsonObject pod(String name, boolean prepared) {
    JsonObject pod =
        json(
            """
            {"metadata": {"name": "%1$s", "namespace": "n", "uid": "uid-%1$s",
                          "creationTimestamp": "2030-01-01T09:00:00Z"},
             "status": {"phase": "Pending", "conditions": [
               {"type": "PodReadyToStartContainers", "status": "%2$s"},
               {"type": "PodScheduled", "status": "True", "lastTransitionTime": "%3$s"}]}}
            """
                .formatted(name, prepared ? "True" : "False", SCHEDULED));
    pods.put(name, pod);
    return pod;
  }

  /** Gives a Pod a container that waits. */
  private static void waits(JsonObject pod, String list, String reason, String message) {
    JsonObject waiting = new JsonObject();
    waiting.addProperty("reason", reason);
    waiting.addProperty("message", message);
    JsonObject container =
        json("{\"name\": \"c\", \"image\": \"a.example/b:1\", \"state\": {\"waiting\": {}}}");
    container.getAsJsonObject("state").add("waiting", waiting);
    JsonObject running = json("{\"name\": \"d\", \"state\": {\"running\": {}}}");
    pod.getAsJsonObject("status").add(list, json("{\"l\": []}").getAsJsonArray("l"));
    pod.getAsJsonObject("status").getAsJsonArray(list).add(running);
    pod.getAsJsonObject("status").getAsJsonArray(list).add(container);
  }

  private void waits(String name, String reason, String message) {
    waits(pod(name, true), "containerStatuses", reason, message);
  }

  private void event(String name, String reason, String time, String message) {
    JsonObject event =
        json(
            """
            {"metadata": {"creationTimestamp": "2030-01-01T10:00:01Z"},
             "reason": "%s", "lastTimestamp": "%s"}
            """
                .formatted(reason, time));
    event.addProperty("message", message);
    events.computeIfAbsent(name, _ -> new ArrayList<>()).add(event);
  }

  private void event(String name, String reason, String message) {
    event(name, reason, "2030-01-01T10:00:05Z", message);
  }

  private HealthCondition condition() throws InterruptedException {
    judge.look(log);
    assertEquals(1, health.standing.size(), health.standing::toString);
    return health.standing.get("pods-not-started");
  }

  private void assertWell() throws InterruptedException {
    judge.look(log);
    assertEquals(Map.of(), Map.copyOf(health.standing));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          ErrImageNeverPull   | Container image "a.example/b:1" is not present with pull policy of Never   | does not let the node fetch it | image load
          ErrImagePull        | failed to do request: dial tcp: lookup a.example: no such host             | does not reach its registry | image load
          ErrImagePull        | dial tcp: lookup a.example on 10.9.9.9:53: no such host                     | the name server 10.9.9.9 knows no registry a.example | correct the image's name
          ErrImagePull        | dial tcp: lookup a.example on 10.9.9.9:53: read udp 1:2->3:53: i/o timeout | the name server 10.9.9.9 does not answer | /etc/resolv.conf
          ImagePullBackOff    | failed to do request: dial tcp 127.0.0.1:1: connect: connection refused    | does not reach its registry | image load
          RegistryUnavailable | registry is unavailable                                                    | does not reach its registry | image load
          ImagePullBackOff    | pull access denied, repository does not exist or may require authorization | other credentials | imagePullSecrets
          ErrImagePull        | failed to resolve reference "a.example/b:1": a.example/b:1: not found      | does not have it | correct its name
          ErrImagePull        | write /var/lib/x: no space left on device                                  | no room for it | df -h
          ErrImagePull        | unexpected media type text/html                                            | the runtime cannot fetch it: failed to pull | image load
          """)
  @DisplayName(
      "a Pod whose image cannot be pulled is named, with the image, the reason and the remedy")
  void image(String reason, String message, String why, String remedy) throws Exception {
    waits("p", reason, PULL + message);
    HealthCondition found = condition();
    assertEquals(HealthLevel.DEGRADED, found.level());
    assertTrue(
        found.reason().startsWith("Pod n/p cannot start: the image a.example/b:1 is not on this"),
        found.reason());
    assertTrue(found.reason().contains(why), found.reason());
    assertTrue(found.remedy().contains(remedy), found.remedy());
    assertTrue(!found.reason().contains("rpc error"), found.reason());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          CreateContainerError | context deadline exceeded
          RunContainerError    | failed to create shim task: OCI runtime create failed: no cgroup
          ImageInspectError    | blob is damaged
          """)
  @DisplayName(
      "a Pod whose container the runtime does not start is named, with the runtime's message")
  void runtime(String reason, String message) throws Exception {
    waits("p", reason, "rpc error: code = Unknown desc = " + message);
    HealthCondition found = condition();
    assertEquals(
        "Pod n/p cannot start: the runtime starts no container: " + message, found.reason());
    assertTrue(found.remedy().contains("root.containers.containerd"), found.remedy());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          FailedCreatePodSandBox | plugin type="bridge" failed (add): failed to find plugin "portmap" in path [/p/cni] | program of the network plugin is missing | provision kubernetes
          FailedCreatePodSandBox | plugin type="bridge" failed (add): no IP addresses available in range set: 10.244.0.1 | Pods use all addresses that this node has | delete Pods
          FailedCreatePodSandBox | plugin type="bridge" failed (add): fork/exec /p/cni/bridge: permission denied | a program is not executable: /p/cni/bridge | chmod 755 /p/cni/bridge
          FailedCreatePodSandBox | plugin type="bridge" failed (add): device or resource busy | network plugin fails: failed to setup network for sandbox: plugin | containerd
          NetworkNotReady        | network is not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized | no addresses for Pods yet | kube status
          NetworkNotReady        | network is not ready: container runtime network not ready | network plugin fails | containerd
          FailedMount            | MountVolume.NewMounter initialization failed for volume "pvc-1" : path "/v/pvc-1" does not exist | the kubelet cannot mount a volume: path "/v/pvc-1" | kubelet
          """)
  @DisplayName("a Pod without a sandbox, a network or a volume is named by the event about it")
  void events(String reason, String message, String why, String remedy) throws Exception {
    pod("p", false);
    event("p", reason, reason.equals("FailedCreatePodSandBox") ? SANDBOX + message : message);
    HealthCondition found = condition();
    assertTrue(found.reason().startsWith("Pod n/p cannot start: "), found.reason());
    assertTrue(found.reason().contains(why), found.reason());
    assertTrue(found.remedy().contains(remedy), found.remedy());
    assertTrue(!found.reason().contains("0011223344"), found.reason());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          FailedCreatePodSandBox | mkdir /r/io.containerd.snapshotter.v1.overlayfs/snapshots/new-1: read-only file system
          FailedCreatePodSandBox | failed to create sandbox root directory "/a/state/data/containers/runtime/io.containerd.grpc.v1.cri/sandboxes/0011": mkdir /a/state/data/containers/runtime/io.containerd.grpc.v1.cri/sandboxes/0011: read-only file system
          FailedMount            | MountVolume.SetUp failed for volume "v" : write /k/pods/1: no space left on device
          """)
  @DisplayName("a refusal of the machine leaves the remedy to the table of such refusals")
  void ofSystem(String reason, String message) throws Exception {
    pod("p", false);
    event("p", reason, message);
    HealthCondition found = condition();
    assertEquals("", found.remedy());
    assertTrue(
        found.reason().endsWith(message.substring(message.lastIndexOf(": "))), found.reason());
  }

  @Test
  @DisplayName("a sandbox that the runtime cannot make is reported as the runtime's failure")
  void sandbox() throws Exception {
    pod("p", false);
    event(
        "p",
        "FailedCreatePodSandBox",
        "(combined from similar events): Failed to create pod sandbox: rpc error: code = Unknown"
            + " desc = failed to get sandbox runtime: no runtime for \"other\" is configured");
    assertEquals(
        "Pod n/p cannot start: the runtime makes no sandbox: failed to get sandbox"
            + " runtime: no runtime for \"other\" is configured",
        condition().reason());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          CreateContainerConfigError | configmap "c" not found
          InvalidImageName           | couldn't parse image name
          CreateContainerError       | failed to generate spec: no command specified
          RunContainerError          | unable to start container process: error during container init: exec: "x": executable file not found in $PATH
          ContainerCreating          |
          PodInitializing            |
          """)
  @DisplayName("a Pod that waits because of its own mistake, or is only slow, is not named")
  void ownFault(String reason, String message) throws Exception {
    waits("p", reason, message == null ? "" : message);
    assertWell();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          FailedMount      | MountVolume.SetUp failed for volume "c" : configmap "c" not found
          FailedMount      | MountVolume.SetUp failed for volume "s" : secret "s" not found
          FailedMount      | MountVolume.SetUp failed for volume "c" : references non-existent config key: k
          FailedMount      | MountVolume.SetUp failed for volume "h" : hostPath type check failed: /x is not a directory
          FailedMount      | Unable to attach or mount volumes: unmounted volumes=[c]: timed out waiting
          FailedScheduling | 0/1 nodes are available
          """)
  @DisplayName(
      "an event about an object that a Pod refers to, or about another matter, names no Pod")
  void ownEvents(String reason, String message) throws Exception {
    pod("p", false);
    event("p", reason, message);
    assertWell();
  }

  @Test
  @DisplayName("an init container's image counts as a container's does")
  void initContainer() throws Exception {
    JsonObject pod = pod("p", true);
    waits(pod, "containerStatuses", "PodInitializing", "");
    waits(pod, "initContainerStatuses", "ErrImageNeverPull", "");
    assertTrue(condition().reason().contains("does not let the node fetch it"));
  }

  @Test
  @DisplayName("a Pod is named once its waiting time is over, and not before")
  void patience() throws Exception {
    waits("p", "ErrImageNeverPull", "");
    now = SCHEDULED.plus(PATIENCE).minusMillis(1);
    assertWell();
    now = SCHEDULED.plus(PATIENCE);
    condition();
  }

  @Test
  @DisplayName("a Pod that has its sandbox is not judged by events, which may be old")
  void oldEvents() throws Exception {
    waits("p", "ContainerCreating", "");
    event("p", "FailedCreatePodSandBox", SANDBOX + "device or resource busy");
    assertWell();
    assertTrue(read.stream().noneMatch(path -> path.contains("events")), read::toString);
  }

  @Test
  @DisplayName("the latest event about a Pod counts, not an older one")
  void latestEvent() throws Exception {
    pod("p", false);
    event("p", "FailedCreatePodSandBox", "2030-01-01T10:00:05Z", SANDBOX + "busy");
    event("p", "FailedMount", "2030-01-01T10:00:20Z", "configmap \"c\" not found");
    assertWell();
    event("p", "NetworkNotReady", "2030-01-01T10:00:25Z", "network is not ready");
    condition();
  }

  @Test
  @DisplayName("a Pod that has recovered, is deleted or ends is no longer named")
  void healing() throws Exception {
    waits("p", "ErrImageNeverPull", "");
    condition();
    waits("p", "ContainerCreating", "");
    assertWell();
    waits("p", "ErrImageNeverPull", "");
    condition();
    pods.get("p").getAsJsonObject("metadata").addProperty("deletionTimestamp", "now");
    assertWell();
    waits("p", "ErrImageNeverPull", "");
    condition();
    pods.clear();
    assertWell();
  }

  @Test
  @DisplayName(
      "of Pods with the same cause the first is named and the rest counted; other causes follow")
  void grouped() throws Exception {
    for (String name : List.of("a", "b", "c")) {
      pod(name, false);
      event(name, "FailedCreatePodSandBox", SANDBOX + "busy with uid-" + name);
    }
    waits("d", "ErrImageNeverPull", "");
    HealthCondition found = condition();
    assertEquals(
        "3 Pods cannot start, n/a the first: the network plugin fails: failed to"
            + " setup network for sandbox: busy with; Pod n/d cannot start: the image a.example/b:1"
            + " is not on this node, and the Pod does not let the node fetch it",
        found.reason());
    assertTrue(found.remedy().contains("containerd"), found.remedy());
    assertTrue(found.remedy().contains("image load"), found.remedy());
  }

  @Test
  @DisplayName("of many causes three are named, and the rest is counted")
  void manyCauses() throws Exception {
    for (int i = 0; i < 5; i++) {
      waits("p" + i, "CreateContainerError", "fault " + i);
    }
    String reason = condition().reason();
    assertTrue(reason.contains("fault 2") && !reason.contains("fault 3"), reason);
    assertTrue(reason.endsWith("; 2 more cannot start for other reasons"), reason);
  }

  @Test
  @DisplayName("one check reads the events of at most 20 Pods, and few of each")
  void bounded() throws Exception {
    for (int i = 0; i < 50; i++) {
      pod("p" + i, false);
    }
    assertWell();
    List<String> asked = read.stream().filter(path -> path.contains("/events")).toList();
    assertEquals(20, asked.size());
    assertTrue(asked.stream().allMatch(path -> path.endsWith("&limit=50")), asked::toString);
  }

  @Test
  @DisplayName("only waiting Pods of this node are read")
  void ownPods() throws Exception {
    assertWell();
    assertEquals(
        List.of("/api/v1/pods?fieldSelector=spec.nodeName%3D" + NODE + "%2Cstatus.phase%3DPending"),
        read);
  }

  @Test
  @DisplayName("while the API server does not answer, the earlier findings stay")
  void apiServerAway() throws Exception {
    waits("p", "ErrImageNeverPull", "");
    HealthCondition found = condition();
    away = true;
    assertEquals(found, condition());
  }

  @Test
  @DisplayName("text that is not printable or very long does not reach the reader")
  void words() throws Exception {
    waits("p", "CreateContainerError", "\u001b[2Jgone " + "x".repeat(10_000));
    String reason = condition().reason();
    assertTrue(reason.contains("?[2Jgone"), reason);
    assertTrue(reason.length() < 300, () -> "letters: " + reason.length());
  }
}
