package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.polis.fixtures.RunningProcess;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Stops a node on which Pods run. */
@Tag("full")
class KubernetesDownIT {

  private static final String POD =
      """
      apiVersion: v1
      kind: Pod
      metadata: {name: lasting}
      spec:
        terminationGracePeriodSeconds: 1
        containers:
        - name: lasting
          image: %s
          imagePullPolicy: Never
          command: [httpd, -f, -p, "8080", -h, /]
      """
          .formatted(BusyboxImage.NAME);

  @TempDir Path directory;

  @ParameterizedTest(name = "killed before: {0}")
  @ValueSource(booleans = {false, true})
  @DisplayName("polis down ends all Pods and leaves nothing behind, also after a kill of the node")
  void down(boolean killed) throws Exception {
    KubernetesNode.assumeSupported();
    String address = killed ? "127.0.65.2" : "127.0.65.1";
    try (KubernetesNode node = KubernetesNode.started(directory.resolve("n"), address)) {
      node.awaitReady();
      node.loadImages(BusyboxImage.write(node.program("busybox"), directory.resolve("image")));
      node.apply(POD);
      node.said("wait", "--for=condition=Ready", "pod/lasting", "--timeout=120s");
      WorkerTraces traces = WorkerTraces.of(node.node());
      Set<RunningProcess> pods = node.podProcesses();
      assertFalse(pods.isEmpty(), "no process of the Pod is seen");
      if (killed) {
        node.node().killJvm();
        assertEquals(pods, alive(pods), "Pods outlive the node's process");
      }

      node.node().stop();

      assertEquals(Set.of(), alive(pods));
      assertEquals(List.of(), traces.left());
      assertEquals(List.of(), node.node().leftovers());
    }
  }

  private static Set<RunningProcess> alive(Set<RunningProcess> processes) {
    return processes.stream().filter(RunningProcess::runs).collect(Collectors.toSet());
  }
}
