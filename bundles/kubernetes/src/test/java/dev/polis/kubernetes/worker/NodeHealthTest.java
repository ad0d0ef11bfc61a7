package dev.polis.kubernetes.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.api.containers.Isolation;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Judges Node objects in the form in which an API server gives them. */
class NodeHealthTest {

  private static final long KUBELET = 4711;

  @TempDir private Path directory;
  private WorkerPlan plan;
  private NodeHealth health;

  @BeforeEach
  void open() throws Exception {
    plan = new WorkerFixture(directory, "127.0.0.1", Isolation.NAMESPACES, 36).plan;
    health = new NodeHealth(plan, Path.of("/data/kubelet"), () -> Optional.of(KUBELET));
  }

  private static JsonObject node(String ready, String disk, boolean cordoned) {
    return JsonParser.parseString(
            """
            {"spec": {"unschedulable": %s}, "status": {"conditions": [
              {"type": "DiskPressure", "status": "%s", "message": "kubelet has disk pressure"},
              {"type": "Ready", "status": "%s", "message": "words of the kubelet"}]}}
            """
                .formatted(cordoned, disk, ready))
        .getAsJsonObject();
  }

  private static JsonObject says(String message) {
    JsonObject node = node("False", "False", false);
    node.getAsJsonObject("status")
        .getAsJsonArray("conditions")
        .get(1)
        .getAsJsonObject()
        .addProperty("message", message);
    return node;
  }

  private HealthCondition of(JsonObject node) {
    return health.ofNode(Optional.of(node)).orElseThrow();
  }

  @Test
  @DisplayName("health distinguishes a deleted Node object from one that does not exist yet")
  void deleted() {
    HealthCondition before = health.ofNode(Optional.empty()).orElseThrow();
    assertEquals(HealthLevel.WAITING, before.level());
    assertEquals("the kubelet has not registered this node yet", before.reason());

    assertEquals(Optional.empty(), health.ofNode(Optional.of(node("True", "False", false))));

    HealthCondition after = health.ofNode(Optional.empty()).orElseThrow();
    assertEquals(HealthLevel.DOWN, after.level());
    assertTrue(after.reason().contains("was deleted"), after::reason);
    assertTrue(after.remedy().contains("kill 4711"), after::remedy);
  }

  @Test
  @DisplayName("a node that evicts Pods, or is cordoned, is named with the command that helps")
  void takesNoPods() {
    HealthCondition pressure = of(node("True", "True", true));
    assertEquals("node-under-pressure", pressure.code());
    assertTrue(pressure.reason().contains("DiskPressure"), pressure::reason);
    assertTrue(pressure.remedy().contains("df -h /data/kubelet"), pressure::remedy);

    HealthCondition cordoned = of(node("True", "False", true));
    assertEquals("node-cordoned", cordoned.code());
    assertTrue(cordoned.remedy().contains("kubectl uncordon " + plan.node()), cordoned::remedy);
  }

  @Test
  @DisplayName("a node that is not Ready is named before all else, in the words of its kubelet")
  void notReady() {
    HealthCondition condition = of(node("False", "True", true));
    assertEquals("the node is not Ready: words of the kubelet", condition.reason());

    HealthCondition network =
        of(
            says(
                "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady"
                    + " message:Network plugin returns error: cni plugin not initialized"));
    assertEquals(
        "the node is not Ready: the network of Pods is not set up: cni plugin not initialized",
        network.reason());
    HealthCondition silent = of(says("Kubelet stopped posting node status."));
    assertTrue(silent.remedy().contains("worker.kubelet"), silent::remedy);
  }
}
