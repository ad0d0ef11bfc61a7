package dev.polis.convergence;

import dev.polis.backoff.Backoff;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.resolver.LeaderConnection;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.cluster.PluginSetGrpc;
import io.grpc.ManagedChannel;
import java.net.InetSocketAddress;
import java.util.function.Supplier;

/** Connects this node to the curator's leader, and to other nodes by their ids. Thread-safe. */
final class ClusterConnection implements AutoCloseable {

  private final Supplier<NodeCredentials> newest;
  private final LeaderConnection leader;

  /**
   * Begins to look for the leader.
   *
   * @param newest this node's credentials, asked for at each new connection
   */
  ClusterConnection(Supplier<NodeCredentials> newest, InetSocketAddress seed, Log log) {
    this.newest = newest;
    this.leader = new LeaderConnection(newest, seed, log);
  }

  NodeId self() {
    return leader.self();
  }

  /** Returns new pauses between attempts to reach the leader. */
  Backoff backoff() {
    return leader.backoff();
  }

  PluginSetGrpc.PluginSetBlockingV2Stub pluginSet() {
    return PluginSetGrpc.newBlockingV2Stub(leader.channel());
  }

  /** Opens a channel to one node, which accepts no other peer. The caller shuts it down. */
  ManagedChannel dial(NodeId node, InetSocketAddress address) {
    return RpcClients.authenticated(
            () -> newest.get().tls(), RpcTrust.node(newest.get().ca(), node))
        .dial(address);
  }

  @Override
  public void close() {
    leader.close();
  }
}
