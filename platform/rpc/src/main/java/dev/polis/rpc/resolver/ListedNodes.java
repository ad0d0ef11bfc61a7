package dev.polis.rpc.resolver;

import dev.polis.wire.curator.Node;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import java.net.InetAddress;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * Collects what one stream of the leader tells about the nodes of the cluster. Not thread-safe.
 *
 * @param <T> what is kept of a node
 */
public final class ListedNodes<T> {

  /** Asks the leader for all nodes, and for each change of them. */
  public static final WatchRequest REQUEST =
      WatchRequest.newBuilder()
          .setNodesInCluster(WatchRequest.NodesInCluster.getDefaultInstance())
          .build();

  private final Function<Node, Optional<T>> kept;
  private final Map<String, T> nodes = new TreeMap<>();
  private boolean complete;

  /**
   * @param kept returns what is kept of a node; a node without it is left out
   */
  public ListedNodes(Function<Node, Optional<T>> kept) {
    this.kept = kept;
  }

  /** Returns the address that a node reports of itself; empty if it is none. */
  public static Optional<InetAddress> address(Node node) {
    String reported = node.getStatus().getExternalAddress();
    try {
      return reported.isEmpty() ? Optional.empty() : Optional.of(InetAddress.ofLiteral(reported));
    } catch (IllegalArgumentException notAnAddress) {
      // Nodes report their own status; one with an invalid address has none.
      return Optional.empty();
    }
  }

  /**
   * Adds an event; returns the nodes by their ids once the initial ones are complete. The map is a
   * view that the next event changes.
   */
  public Optional<Map<String, T>> accept(WatchEvent event) {
    for (Node node : event.getNodesList()) {
      kept.apply(node)
          .ifPresentOrElse(
              value -> nodes.put(node.getId(), value), () -> nodes.remove(node.getId()));
    }
    event.getNodeTombstonesList().forEach(gone -> nodes.remove(gone.getNodeId()));
    complete |= event.getProgress() == WatchEvent.Progress.PROGRESS_LAST_BACKLOGGED;
    return complete ? Optional.of(Collections.unmodifiableMap(nodes)) : Optional.empty();
  }
}
