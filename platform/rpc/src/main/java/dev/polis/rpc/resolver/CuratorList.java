package dev.polis.rpc.resolver;

import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.Node;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.ManagedChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Follows the leader's list of nodes and reports the nodes with a curator. */
final class CuratorList {
  private final Supplier<ManagedChannel> leader;
  private final RetryLoop retry;
  private final Consumer<Set<NodeEndpoint>> report;

  /**
   * Creates a list, which {@link #follow} then follows.
   *
   * @param leader opens a channel to the leader
   * @param report receives the endpoints of all curators, at each change
   */
  CuratorList(
      Supplier<ManagedChannel> leader, RetryLoop retry, Consumer<Set<NodeEndpoint>> report) {
    this.leader = leader;
    this.retry = retry;
    this.report = report;
  }

  /** Follows the list until the thread is interrupted. */
  void follow() {
    ManagedChannel channel = leader.get();
    try {
      retry.untilInterrupted("list of curators", () -> read(channel));
    } finally {
      channel.shutdownNow();
    }
  }

  private boolean read(ManagedChannel channel) {
    Iterator<WatchEvent> events =
        CuratorGrpc.newBlockingStub(channel)
            .watch(
                WatchRequest.newBuilder()
                    .setNodesInCluster(WatchRequest.NodesInCluster.getDefaultInstance())
                    .build());
    Map<String, NodeEndpoint> listed = new HashMap<>();
    boolean complete = false;
    while (events.hasNext()) {
      WatchEvent event = events.next();
      event.getNodesList().forEach(node -> note(listed, node));
      event.getNodeTombstonesList().forEach(gone -> listed.remove(gone.getNodeId()));
      complete |= event.getProgress() == WatchEvent.Progress.PROGRESS_LAST_BACKLOGGED;
      if (complete) {
        report.accept(Set.copyOf(listed.values()));
      }
    }
    return true;
  }

  private static void note(Map<String, NodeEndpoint> listed, Node node) {
    curator(node)
        .ifPresentOrElse(
            endpoint -> listed.put(node.getId(), endpoint), () -> listed.remove(node.getId()));
  }

  private static Optional<NodeEndpoint> curator(Node node) {
    // A node reports its own status, but its roles come from an operator: a node without the
    // cluster's records must not name a leader to others.
    if (!node.getRoles().hasConsensusMember()
        || !node.getStatus().hasRunningCurator()
        || node.getStatus().getExternalAddress().isEmpty()
        || !NodeId.matches(node.getId())) {
      return Optional.empty();
    }
    int port = node.getStatus().getRunningCurator().getPort();
    try {
      return Optional.of(
          new NodeEndpoint(
              NodeId.parse(node.getId()),
              new InetSocketAddress(
                  InetAddress.ofLiteral(node.getStatus().getExternalAddress()),
                  port == 0 ? LeaderSearch.CURATOR_PORT : port)));
    } catch (IllegalArgumentException notAnAddress) {
      // Nodes report their own status; a node with an invalid one gets no request.
      return Optional.empty();
    }
  }
}
