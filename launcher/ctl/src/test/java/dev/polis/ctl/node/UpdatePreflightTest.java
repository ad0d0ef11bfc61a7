package dev.polis.ctl.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.wire.api.Node;
import dev.polis.wire.cluster.Member;
import dev.polis.wire.common.NodeRoles;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class UpdatePreflightTest {

  private static Node node(String id, Node.Health health) {
    return Node.newBuilder().setId(id).setHealth(health).build();
  }

  private static final Node A = node("a", Node.Health.HEALTH_HEALTHY);
  private static final Node B = node("b", Node.Health.HEALTH_HEALTHY);
  private static final Node C = node("c", Node.Health.HEALTH_HEALTHY);

  private static List<Member> voters(String... names) {
    return Stream.of(names).map(name -> Member.newBuilder().setName(name).build()).toList();
  }

  private static Member away(String name) {
    return Member.newBuilder().setName(name).setError("no answer").build();
  }

  private static String problem(Node node, List<Node> nodes, List<Member> members) {
    return UpdatePreflight.problem(node, nodes, members, false).orElse("none");
  }

  @Test
  @DisplayName("one node at a time: a silent other node stops an update, the node itself does not")
  void oneAtATime() {
    Node silent = node("c", Node.Health.HEALTH_HEARTBEAT_TIMEOUT);
    assertTrue(
        problem(A, List.of(A, B, silent), voters("a", "b", "c")).contains("node c is silent"));
    assertEquals("none", problem(silent, List.of(A, B, silent), voters("a", "b", "c")));
  }

  @Test
  @DisplayName("a voter reboots only while the others keep a quorum, if they can keep one at all")
  void quorum() {
    List<Node> all = List.of(A, B, C);
    assertEquals("none", problem(A, all, voters("a", "b", "c")));
    List<Member> two = List.of(voters("a").getFirst(), voters("b").getFirst(), away("c"));
    assertEquals(
        "without node a, 1 of 3 voters of etcd would be up, and it needs 2; start the others first",
        problem(A, all, two));
    assertEquals("none", problem(C, all, two), "it is down already");
    assertEquals("none", problem(A, List.of(A, B), voters("a", "b")));
    assertTrue(UpdatePreflight.losesQuorum(A, voters("a", "b")));
    assertEquals("none", problem(A, List.of(A), voters("a")));
    assertFalse(UpdatePreflight.losesQuorum(A, voters("a", "b", "c")));
    assertFalse(UpdatePreflight.losesQuorum(C, voters("a", "b")), "it has no vote");
  }

  @Test
  @DisplayName("a node with Pods is drained first, unless the operator lets them stop")
  void pods() {
    Node worker =
        A.toBuilder()
            .setRoles(
                NodeRoles.newBuilder()
                    .setKubernetesWorker(NodeRoles.KubernetesWorker.getDefaultInstance()))
            .build();
    String refused = problem(worker, List.of(worker), voters("a"));
    assertTrue(refused.contains("node role remove a KubernetesWorker"), refused);
    assertEquals(
        Optional.empty(), UpdatePreflight.problem(worker, List.of(worker), voters("a"), true));
  }
}
