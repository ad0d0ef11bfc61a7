package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Tier;
import java.nio.file.Path;
import java.util.List;
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
 * Removes the roles of Kubernetes from a node and adds them again: in between the machine has no
 * remains of them, and afterwards Pods are back with their data. Removes the worker first, or both
 * at once. {@code polis test --long} does it 5 times, else once.
 */
@Tag("full")
@Tag("longer")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class KubernetesRolesIT {

  private static final int TIMES = Tier.isLong() ? 5 : 1;

  private static final String CONTROLLER = KubernetesNode.ROLES.getFirst();
  private static final String WORKER = KubernetesNode.ROLES.getLast();

  private static final List<String> PROGRAMS =
      List.of(
          "kube-apiserver",
          "kube-controller-manager",
          "kube-scheduler",
          "kubelet",
          "kube-proxy",
          "coredns",
          "containerd",
          "containerd-shim-runc-v2");

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
  private static FirewallRules before;

  @BeforeAll
  static void start() throws Exception {
    KubernetesNode.assumeSupported();
    before = FirewallRules.ofHost();
    node = KubernetesNode.started(directory.resolve("n"), "127.0.63.1");
    node.awaitReady();
  }

  @AfterAll
  static void stop() {
    if (node != null) {
      node.close();
    }
  }

  @Test
  @Order(1)
  @DisplayName(
      "roles that are removed and added again leave no remains in between, and lose no data")
  void removedAndAdded() throws Exception {
    node.loadImages(BusyboxImage.write(node.program("busybox"), directory.resolve("image")));
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
      assertEquals(before, FirewallRules.ofHost());
      node.addRoles();
      node.awaitReady();
      requireStarts(time + 1);
    }
  }

  @Test
  @Order(2)
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
    assertEquals(before, FirewallRules.ofHost());
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
