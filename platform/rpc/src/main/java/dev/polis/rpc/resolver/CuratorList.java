package dev.polis.rpc.resolver;

import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.Node;
import dev.polis.wire.curator.WatchEvent;
import io.grpc.ManagedChannel;
import java.net.InetSocketAddress;
import java.util.Iterator;
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
    Iterator<WatchEvent> events = CuratorGrpc.newBlockingStub(channel).watch(ListedNodes.REQUEST);
    ListedNodes<NodeEndpoint> listed = new ListedNodes<>(CuratorList::curator);
    while (events.hasNext()) {
      listed.accept(events.next()).ifPresent(now -> report.accept(Set.copyOf(now.values())));
    }
    return true;
  }

  private static Optional<NodeEndpoint> curator(Node node) {
    // A node reports its own status, but its roles come from an operator: a node without the
    // cluster's records must not name a leader to others.
    if (!node.getRoles().hasConsensusMember()
        || !node.getStatus().hasRunningCurator()
        || !NodeId.matches(node.getId())) {
      return Optional.empty();
    }
    int port = node.getStatus().getRunningCurator().getPort();
    try {
      return ListedNodes.address(node)
          .map(
              address ->
                  new NodeEndpoint(
                      NodeId.parse(node.getId()),
                      new InetSocketAddress(
                          address, port == 0 ? LeaderSearch.CURATOR_PORT : port)));
    } catch (IllegalArgumentException noPort) {
      // Nodes report their own status; a node with an invalid one gets no request.
      return Optional.empty();
    }
  }
}
