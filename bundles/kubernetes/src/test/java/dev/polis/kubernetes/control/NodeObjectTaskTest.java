package dev.polis.kubernetes.control;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import com.google.re2j.Pattern;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.NodeLabels;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class NodeObjectTaskTest {

  private static NodeLabels.Pair pair(String key, String value) {
    return NodeLabels.Pair.newBuilder().setKey(key).setValue(value).build();
  }

  private static Node node() {
    return Node.newBuilder()
        .setRoles(
            RoleRecord.of(List.of(RoleName.KUBERNETES_CONTROLLER, RoleName.KUBERNETES_WORKER)))
        .setLabels(
            NodeLabels.newBuilder()
                .addPairs(pair("example.com/rack", "r7"))
                .addPairs(pair("example.com/secret", "x"))
                .addPairs(pair("zone", "")))
        .build();
  }

  @Test
  @DisplayName("a node of Kubernetes gets a label for each role, and other labels only by a rule")
  void roles() {
    assertEquals(
        Map.of(
            "node-role.kubernetes.io/KubernetesController", "",
            "node-role.kubernetes.io/KubernetesWorker", ""),
        NodeObjectTask.labels(node(), List.of()));
  }

  @Test
  @DisplayName("a label is copied if any rule matches its key=value")
  void rules() {
    assertEquals(
        Map.of(
            "example.com/rack", "r7",
            "zone", "",
            "node-role.kubernetes.io/KubernetesController", "",
            "node-role.kubernetes.io/KubernetesWorker", ""),
        NodeObjectTask.labels(
            node(), List.of(Pattern.compile("/rack=r[0-9]$"), Pattern.compile("^zone="))));
  }

  @Test
  @DisplayName("a rule on which a backtracking match takes years takes no time here")
  void catastrophic() {
    Node node =
        Node.newBuilder()
            .setLabels(NodeLabels.newBuilder().addPairs(pair("rack", "a".repeat(60) + "!")))
            .build();
    // Years against milliseconds: a busy machine makes no difference.
    assertTimeoutPreemptively(
        Duration.ofSeconds(30),
        () ->
            assertEquals(
                Map.of(), NodeObjectTask.labels(node, List.of(Pattern.compile("(.*a){25}$")))));
  }
}
