package dev.polis.curator;

import dev.polis.api.metrics.MetricsAnswer;
import dev.polis.curator.leader.LeaderTerm;
import dev.polis.curator.record.NodeRecords;
import dev.polis.wire.api.Node;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/**
 * Writes the page that tells Prometheus which nodes the leader hears. All curators serve it, so
 * that a scrape needs not know the leader.
 */
final class ClusterMetrics {

  static final String NAME = "cluster";

  private static final String TYPE = "text/plain; version=0.0.4";

  private ClusterMetrics() {}

  /** Writes the page of this curator, which lists nodes while it leads. */
  static MetricsAnswer page(Optional<LeaderTerm> term) {
    List<Node> nodes =
        term.map(
                leading ->
                    leading.known().forOperators().stream()
                        .map(node -> NodeRecords.withHealth(node, leading.heartbeats()))
                        .toList())
            .orElse(List.of());
    return new MetricsAnswer.Page(
        TYPE, text(term.isPresent(), nodes).getBytes(StandardCharsets.UTF_8));
  }

  static String text(boolean leads, List<Node> nodes) {
    StringBuilder page =
        new StringBuilder(
            """
            # HELP polis_cluster_leads 1 on the node that leads the cluster, 0 on the others
            # TYPE polis_cluster_leads gauge
            polis_cluster_leads %d
            # HELP polis_cluster_node_heard 1 while the leader hears the node's heartbeats, 0 once it misses them
            # TYPE polis_cluster_node_heard gauge
            """
                .formatted(leads ? 1 : 0));
    for (Node node : nodes) {
      switch (node.getHealth()) {
        case HEALTH_HEALTHY -> heard(page, node, 1);
        case HEALTH_HEARTBEAT_TIMEOUT -> heard(page, node, 0);
        // It is no member, or the leader is too young to know.
        case HEALTH_UNKNOWN, HEALTH_INVALID, UNRECOGNIZED -> {}
      }
    }
    return page.toString();
  }

  private static void heard(StringBuilder page, Node node, int value) {
    page.append("polis_cluster_node_heard{node=\"%s\"} %d\n".formatted(node.getId(), value));
  }
}
