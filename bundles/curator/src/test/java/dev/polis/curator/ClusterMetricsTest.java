package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.wire.api.Node;
import dev.polis.wire.api.Node.Health;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ClusterMetricsTest {

  private static Node node(String id, Health health) {
    return Node.newBuilder().setId(id).setHealth(health).build();
  }

  private static List<String> values(boolean leads, Node... nodes) {
    return ClusterMetrics.text(leads, List.of(nodes))
        .lines()
        .filter(line -> !line.startsWith("#"))
        .toList();
  }

  @Test
  @DisplayName("the leader lists the nodes that it hears, and those that it misses")
  void leader() {
    assertEquals(
        List.of(
            "polis_cluster_leads 1",
            "polis_cluster_node_heard{node=\"metropolis-1\"} 1",
            "polis_cluster_node_heard{node=\"metropolis-2\"} 0"),
        values(
            true,
            node("metropolis-1", Health.HEALTH_HEALTHY),
            node("metropolis-2", Health.HEALTH_HEARTBEAT_TIMEOUT),
            node("metropolis-3", Health.HEALTH_UNKNOWN)));
  }

  @Test
  @DisplayName("a curator that does not lead lists no node")
  void follower() {
    assertEquals(List.of("polis_cluster_leads 0"), values(false));
  }
}
