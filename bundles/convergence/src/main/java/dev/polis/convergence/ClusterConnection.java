package dev.polis.convergence;

import dev.polis.backoff.Backoff;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.resolver.LeaderResolver;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.cluster.PluginSetGrpc;
import io.grpc.ManagedChannel;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Connects this node to the curator's leader, and to other nodes by their ids. Thread-safe. */
final class ClusterConnection implements AutoCloseable {

  /** Calls in flight get this long to end when the connection is closed. */
  private static final long GRACE_SECONDS = 2;

  // An election without contention takes about this long.
  private static final Duration FIRST_PAUSE = Duration.ofMillis(250);

  // Long enough to be no load on a cluster that comes back, short enough for a person.
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

  private final Supplier<NodeCredentials> newest;
  private final NodeId self;
  private final LeaderResolver resolver;
  private final ManagedChannel channel;

  /**
   * Begins to look for the leader.
   *
   * @param newest this node's credentials, asked for at each new connection
   */
  ClusterConnection(Supplier<NodeCredentials> newest, InetSocketAddress seed, Log log) {
    this.newest = newest;
    NodeCredentials first = newest.get();
    this.self = first.id();
    RpcClients clients =
        RpcClients.authenticated(() -> newest.get().tls(), RpcTrust.cluster(first.ca()));
    this.resolver = LeaderResolver.open(List.of(seed), clients, log);
    this.channel = resolver.channel();
  }

  NodeId self() {
    return self;
  }

  /** Returns new pauses between attempts to reach the leader. */
  Backoff backoff() {
    return new Backoff(FIRST_PAUSE, LONGEST_PAUSE);
  }

  PluginSetGrpc.PluginSetBlockingV2Stub pluginSet() {
    return PluginSetGrpc.newBlockingV2Stub(channel);
  }

  /**
   * Opens a channel to one node, which takes nobody else for that node. The caller shuts it down.
   */
  ManagedChannel dial(NodeId node, InetSocketAddress address) {
    return RpcClients.authenticated(
            () -> newest.get().tls(), RpcTrust.node(newest.get().ca(), node))
        .dial(address);
  }

  @Override
  public void close() {
    channel.shutdownNow();
    try {
      channel.awaitTermination(GRACE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    resolver.close();
  }
}
