package dev.polis.roles;

import dev.polis.api.network.Network;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeId;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.rpc.resolver.ListedNodes;
import dev.polis.supervision.Context;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.curator.Node;
import java.io.IOException;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Gives the network organ the names and addresses of the cluster's nodes, at each change. Without a
 * leader the last ones stay.
 */
final class RoleNodeNames {

  private final LeaderConnection connection;
  private final Network network;
  private Map<NodeId, InetAddress> known = Map.of(); // used by the thread of run() alone

  RoleNodeNames(LeaderConnection connection, Network network) {
    this.connection = connection;
    this.network = network;
  }

  void run(Context context) throws InterruptedException {
    connection.followNodes(
        context,
        "the watch of the names of the nodes",
        RoleNodeNames::address,
        nodes -> publish(nodes, context.log()));
  }

  private void publish(Map<String, InetAddress> nodes, Log log) {
    Map<NodeId, InetAddress> now = new HashMap<>();
    nodes.forEach((id, address) -> now.put(NodeId.parse(id), address));
    if (now.equals(known)) {
      return;
    }
    try {
      network.publishNames(now);
    } catch (IOException unwritable) {
      log.warning("the names of the nodes stay as they were: %s", unwritable.getMessage());
      return;
    }
    TreeSet<String> gone = new TreeSet<>();
    known.keySet().stream()
        .filter(node -> !now.containsKey(node))
        .forEach(node -> gone.add(node.text()));
    if (!gone.isEmpty()) {
      log.info("removed from the names of the nodes: %s", String.join(", ", gone));
    }
    known = now;
  }

  private static Optional<InetAddress> address(Node node) {
    return NodeId.matches(node.getId()) && node.getState() != NodeState.NODE_STATE_DECOMMISSIONED
        ? ListedNodes.address(node)
        : Optional.empty();
  }
}
