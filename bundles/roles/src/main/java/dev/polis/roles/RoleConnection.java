package dev.polis.roles;

import dev.polis.logtree.Log;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.resolver.LeaderResolver;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.curator.CuratorGrpc;
import io.grpc.ManagedChannel;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** The way of this node to the leader of its cluster's curator. Thread-safe. */
final class RoleConnection implements AutoCloseable {

  /** Calls in flight get this long to end when the connection is closed. */
  private static final long GRACE_SECONDS = 2;

  private final NodeId self;
  private final LeaderResolver resolver;
  private final ManagedChannel channel;

  /**
   * Opens the way.
   *
   * @param newest this node's credentials, asked for at each new connection
   */
  RoleConnection(Supplier<NodeCredentials> newest, InetSocketAddress seed, Log log) {
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

  CuratorGrpc.CuratorBlockingV2Stub curator() {
    return CuratorGrpc.newBlockingV2Stub(channel);
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
