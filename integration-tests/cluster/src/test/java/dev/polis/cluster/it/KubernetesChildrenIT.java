package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.RunningProcess;
import dev.polis.fixtures.Slice;
import dev.polis.fixtures.Tier;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
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
 * Kills, stops and breaks each child process of Kubernetes on one node: the node names it with the
 * reason, starts it again, and recovers; the others and the Pods keep running. Then removes the
 * roles and adds them again: in between the machine has no remains of them, and afterwards Pods are
 * back with their data. {@code polis test --long} kills every child instead of every second one,
 * also stops the API server, makes every child fail at its start instead of three, and removes the
 * roles 5 times instead of once, by turns the worker first and both at once.
 */
@Tag("full")
@Tag("longer")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class KubernetesChildrenIT {

  private static final String ADDRESS = "127.0.66.1";

  private static final String CONTROLLER = "KubernetesController";
  private static final String WORKER = "KubernetesWorker";
  private static final String CONTROL_PLANE =
      "root.roles.plugins.kubernetes_controller.plugin.control-plane.";
  private static final String WORKER_RUN = "root.roles.plugins.kubernetes_worker.plugin.worker.";

  /**
   * A child process.
   *
   * @param role the role whose health names it @param dn the DN of the runnable that supervises it
   */
  private record Child(String program, String role, String dn) {
    static Child ofController(String program) {
      return new Child(program, CONTROLLER, CONTROL_PLANE + program);
    }

    static Child ofWorker(String program) {
      return new Child(program, WORKER, WORKER_RUN + program);
    }
  }

  private static final Child API_SERVER = Child.ofController("kube-apiserver");
  private static final Child CONTROLLER_MANAGER = Child.ofController("kube-controller-manager");
  private static final Child SCHEDULER = Child.ofController("kube-scheduler");
  private static final Child KUBELET = Child.ofWorker("kubelet");
  private static final Child PROXY = Child.ofWorker("kube-proxy");
  private static final Child DNS = Child.ofWorker("coredns");
  private static final Child CONTAINERD =
      new Child("containerd", WORKER, "root.containers.runtime.run");

  /** In the short form, every second one is killed. */
  private static final List<Child> ALL =
      List.of(API_SERVER, CONTROLLER_MANAGER, SCHEDULER, KUBELET, PROXY, DNS, CONTAINERD);

  /** The children of one group do not need one another, so they can be silent at the same time. */
  private static final List<List<Child>> STOPPED_TOGETHER =
      List.of(
          List.of(CONTROLLER_MANAGER, SCHEDULER, KUBELET, PROXY, DNS, CONTAINERD),
          List.of(API_SERVER));

  private static final List<List<Child>> BROKEN_TOGETHER =
      List.of(
          List.of(KUBELET, DNS, SCHEDULER),
          List.of(PROXY, CONTROLLER_MANAGER),
          List.of(CONTAINERD),
          List.of(API_SERVER));

  /**
   * With five pauses of 0.5 s × 1.5ⁿ, each at least half as long: 3.3 s in all, against
   * milliseconds without pauses.
   */
  private static final int STARTS = 6;

  private static final long SHORTEST_MILLIS = 3_000;

  /** Half of the fifth pause of 2.5 s. */
  private static final long SHORTEST_LAST_MILLIS = 1_200;

  private static final String POD =
      """
      apiVersion: v1
      kind: Pod
      metadata: {name: untouched}
      spec:
        terminationGracePeriodSeconds: 1
        containers:
        - name: web
          image: %s
          imagePullPolicy: Never
          command: [httpd, -f, -p, "8080", -h, /]
      """
          .formatted(BusyboxImage.NAME);

  /** The times that the roles are removed and added again. */
  private static final int TIMES = Tier.isLong() ? 5 : 1;

  private static final List<String> PROGRAMS =
      Stream.concat(ALL.stream().map(Child::program), Stream.of("containerd-shim-runc-v2"))
          .toList();

  private static final String WRITER =
      """
      apiVersion: v1
      kind: PersistentVolumeClaim
      metadata: {name: kept}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 16Mi}}}
      ---
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: writer}
      spec:
        selector: {matchLabels: {app: writer}}
        strategy: {type: Recreate}
        template:
          metadata: {labels: {app: writer}}
          spec:
            terminationGracePeriodSeconds: 1
            containers:
            - name: writer
              image: %s
              imagePullPolicy: Never
              command: [sh, -c, "echo started >> /data/starts; exec sleep 1000000"]
              volumeMounts: [{name: data, mountPath: /data}]
            volumes: [{name: data, persistentVolumeClaim: {claimName: kept}}]
      """
          .formatted(BusyboxImage.NAME);

  @TempDir static Path directory;
  private static KubernetesNode node;
  private static FailingPrograms programs;
  private static Set<RunningProcess> pods;
  private static FirewallRules rules;

  @BeforeAll
  static void start() throws Exception {
    KubernetesNode.assumeSupported();
    rules = FirewallRules.ofHost();
    programs = FailingPrograms.linkedIn(directory.resolve("programs"));
    node = KubernetesNode.started(programs.folder(), directory.resolve("n"), ADDRESS);
    node.awaitReady();
    node.loadImages(BusyboxImage.write(node.program("busybox"), directory.resolve("image")));
    node.apply(POD);
    node.said("wait", "--for=condition=Ready", "pod/untouched", "--timeout=120s");
    awaitUp();
    pods = node.podProcesses();
  }

  @AfterAll
  static void sweep() {
    if (node != null) {
      node.close();
    }
  }

  /** Returns all groups in the long form, else the first one. */
  private static List<List<Child>> wanted(List<List<Child>> groups) {
    return Tier.isLong() ? groups : groups.subList(0, 1);
  }

  // ---- the operator's view

  private static JsonObject explained(String name) throws Exception {
    return node.node().json("explain", name).getAsJsonObject();
  }

  /** Returns the causes only, since the explanation of a role always names all its programs. */
  private static String causes(String name) throws Exception {
    JsonArray causes = explained(name).getAsJsonArray("causes");
    return StreamSupport.stream(causes.spliterator(), false)
        .map(JsonElement::getAsString)
        .collect(Collectors.joining("\n"));
  }

  private static void awaitCause(String name, String... words) throws Exception {
    AtomicReference<String> causes = new AtomicReference<>("nothing");
    Await.until(
        KubernetesNode.PATIENCE,
        "explain %s to contain %s".formatted(name, List.of(words)),
        () -> {
          causes.set(causes(name));
          return List.of(words).stream().allMatch(causes.get()::contains);
        },
        () -> "it says " + causes);
  }

  private static void awaitUp() throws Exception {
    for (String role : KubernetesNode.ROLES) {
      Await.until(
          KubernetesNode.PATIENCE,
          role + " to be UP",
          () -> explained(role).get("level").getAsString().equals("UP"),
          () -> explained(role));
    }
    node.awaitReady();
  }

  /**
   * Waits until the programs that lead by a lease have renewed it. One that could not for 10 s,
   * while no API server answered, ends by itself, also shortly after the API server answers again.
   */
  private static void awaitLeases() throws Exception {
    for (Child child : List.of(CONTROLLER_MANAGER, SCHEDULER)) {
      String before = leaseRenewed(child);
      Await.until(
          KubernetesNode.PATIENCE,
          child.program() + " to renew its lease after " + before,
          () -> !leaseRenewed(child).equals(before),
          () -> explained(CONTROLLER));
    }
  }

  private static String leaseRenewed(Child child) throws Exception {
    return node.said(
        "get", "lease", child.program(), "-n", "kube-system", "-o", "jsonpath={.spec.renewTime}");
  }

  private static void awaitAnother(Child child, long before) throws Exception {
    Await.until(
        KubernetesNode.PATIENCE,
        "another process of " + child.program(),
        () ->
            node.node().children(child.program()).stream()
                .anyMatch(process -> process.pid() != before));
  }

  // ---- processes

  private static long pid(Child child) {
    return node.node().children(child.program()).stream()
        .findFirst()
        .orElseThrow(() -> new AssertionError("no process of " + child.program() + " runs"))
        .pid();
  }

  private static Map<Child, Long> pids(List<Child> children) {
    Map<Child, Long> pids = new TreeMap<>((one, other) -> one.dn().compareTo(other.dn()));
    children.forEach(child -> pids.put(child, pid(child)));
    return pids;
  }

  private static void signal(String signal, long pid) throws Exception {
    TestNode.finish(List.of("kill", "-" + signal, Long.toString(pid)), Map.of())
        .requireSuccess("kill -" + signal);
  }

  /** Returns the children that must not be affected by the faults of these. */
  private static List<Child> others(List<Child> these) {
    return ALL.stream()
        .filter(child -> !these.contains(child))
        .filter(child -> !these.contains(API_SERVER) || child.role().equals(WORKER))
        .toList();
  }

  private static void requireHealed(List<Child> children, Map<Child, Long> others)
      throws Exception {
    awaitUp();
    if (children.contains(API_SERVER)) {
      awaitLeases();
      awaitUp();
    }
    assertEquals(others, pids(List.copyOf(others.keySet())), "the others, without " + children);
    assertEquals(pods, node.podProcesses(), "processes of Pods");
  }

  @Test
  @Order(1)
  @DisplayName("each killed child is named, started again and recovers; the others keep running")
  void killed() throws Exception {
    for (Child child : Slice.of(ALL, 2)) {
      Map<Child, Long> others = pids(others(List.of(child)));
      long before = pid(child);
      signal("KILL", before);
      // The runnable's history keeps the death; the role names it only until the next process
      // works.
      awaitCause(child.dn(), "%s (pid %d)".formatted(child.program(), before), "signal 9");
      awaitAnother(child, before);
      requireHealed(List.of(child), others);
    }
  }

  @Test
  @Order(2)
  @DisplayName("stopped children are named, ended and started again; the others keep running")
  void stopped() throws Exception {
    for (List<Child> children : wanted(STOPPED_TOGETHER)) {
      Map<Child, Long> others = pids(others(children));
      Map<Child, Long> before = pids(children);
      try {
        for (long pid : before.values()) {
          signal("STOP", pid);
        }
        awaitNamed(children);
        for (Child child : children) {
          awaitAnother(child, before.get(child));
          awaitCause(child.dn(), child.program(), "did not answer for", "was ended");
        }
      } finally {
        for (long pid : before.values()) {
          if (ProcessHandle.of(pid).isPresent()) {
            signal("CONT", pid);
          }
        }
      }
      requireHealed(children, others);
    }
  }

  /** Waits until each was named by its role at some time; containerd is ended before the others. */
  private static void awaitNamed(List<Child> children) throws Exception {
    Set<Child> unnamed = new HashSet<>(children);
    Await.until(
        KubernetesNode.PATIENCE,
        "the roles to name " + children,
        () -> {
          Map<String, String> causes =
              Map.of(CONTROLLER, causes(CONTROLLER), WORKER, causes(WORKER));
          unnamed.removeIf(
              child ->
                  causes
                      .get(child.role())
                      .lines()
                      .anyMatch(
                          cause ->
                              cause.contains(child.program() + " ")
                                  && cause.contains("has not answered for")));
          return unnamed.isEmpty();
        });
    for (String role : children.stream().map(Child::role).distinct().toList()) {
      assertTrue(
          node.node()
              .ctl("kube", "status")
              .out()
              .lines()
              .anyMatch(line -> line.contains(role) && line.contains("DOWN")),
          role);
    }
  }

  @Test
  @Order(3)
  @DisplayName(
      "children that fail at their start are named with their last line, started again after growing pauses, and recover")
  void brokenAtStart() throws Exception {
    for (List<Child> children : wanted(BROKEN_TOGETHER)) {
      Map<Child, Long> others = pids(others(children));
      for (Child child : children) {
        programs.fail(child.program());
        signal("KILL", pid(child));
      }
      for (Child child : children) {
        String words = FailingPrograms.lastLine(child.program());
        awaitCause(child.role(), child.program(), words);
        String other = child.role().equals(WORKER) ? CONTROLLER : WORKER;
        assertFalse(causes(other).contains(words), other);
        requireBackoff(child);
      }
      if (children.contains(API_SERVER)) {
        // It may have ended by itself already because it could not renew its lease.
        node.node().children(SCHEDULER.program()).forEach(ProcessHandle::destroyForcibly);
        awaitCause(SCHEDULER.dn(), "the API server is not ready");
      }
      for (Child child : children) {
        programs.mend(child.program());
      }
      for (Child child : children) {
        awaitAnother(child, 0);
      }
      requireHealed(children, others);
    }
  }

  private static void requireBackoff(Child child) throws Exception {
    String program = child.program();
    Await.until(
        KubernetesNode.PATIENCE,
        "%d starts of %s".formatted(STARTS, program),
        () -> programs.startTimes(program).size() >= STARTS);
    List<Long> times = programs.startTimes(program);
    long whole = times.get(STARTS - 1) - times.getFirst();
    long last = times.get(STARTS - 1) - times.get(STARTS - 2);
    assertTrue(whole >= SHORTEST_MILLIS, () -> program + " was started at " + times);
    assertTrue(last >= SHORTEST_LAST_MILLIS, () -> program + " was started at " + times);
  }

  @Test
  @Order(4)
  @DisplayName(
      "roles that are removed and added again leave no remains in between, and lose no data")
  void removedAndAdded() throws Exception {
    node.apply(WRITER);
    requireStarts(1);
    for (int time = 1; time <= TIMES; time++) {
      if (time % 2 == 1) {
        node.removeRole(WORKER);
        node.awaitNoNodeObject();
        node.removeRole(CONTROLLER);
      } else {
        node.removeRoles();
      }
      Await.until(KubernetesNode.PATIENCE, "the end of Kubernetes' processes", () -> ended());
      node.awaitNothingLeft();
      assertEquals(rules, FirewallRules.ofHost());
      node.addRoles();
      node.awaitReady();
      requireStarts(time + 1);
    }
  }

  @Test
  @Order(5)
  @DisplayName("roles that are removed while they cannot start leave no remains of an earlier run")
  void removedWhileTheyCannotStart() throws Exception {
    node.node().killJvm();
    node.upWithoutPrograms(directory.resolve("nowhere"));
    Await.until(
        KubernetesNode.PATIENCE,
        "the worker's report of missing programs",
        () -> node.node().ctl("explain", WORKER).all().contains("nowhere"));
    node.removeRoles();
    Await.until(KubernetesNode.PATIENCE, "the end of Kubernetes' processes", () -> ended());
    node.awaitNothingLeft();
    assertEquals(rules, FirewallRules.ofHost());
  }

  private static boolean ended() {
    return PROGRAMS.stream().allMatch(program -> node.node().children(program).isEmpty());
  }

  /** Requires one line per start of the Pod in the file on its volume. */
  private static void requireStarts(int starts) throws Exception {
    node.said("rollout", "status", "deployment/writer", "--timeout=120s");
    Await.until(
        KubernetesNode.PATIENCE,
        "the Pod to have written line " + starts,
        () ->
            node.kubectl("exec", "deployment/writer", "--", "cat", "/data/starts")
                    .out()
                    .lines()
                    .count()
                >= starts);
    assertEquals(
        starts,
        node.said("exec", "deployment/writer", "--", "cat", "/data/starts").lines().count());
  }
}
