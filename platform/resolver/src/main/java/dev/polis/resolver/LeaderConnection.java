package dev.polis.resolver;

import dev.polis.backoff.Backoff;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Connects this node to the leader of its cluster's curator, whichever node leads. Thread-safe; its
 * creator closes it.
 */
public final class LeaderConnection implements AutoCloseable {

  /** Calls in flight get this long to end when the connection is closed. */
  private static final long GRACE_SECONDS = 2;

  // An election without contention takes about this long.
  private static final Duration FIRST_PAUSE = Duration.ofMillis(250);

  // Long enough to be no load on a cluster that comes back, short enough for a person.
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

  private final NodeId self;
  private final LeaderResolver resolver;
  private final ManagedChannel channel;

  /**
   * Begins to look for the leader.
   *
   * @param newest this node's credentials, asked for at each new connection
   * @param seed the address of a curator listener
   * @param log receives how the leader is found
   */
  public LeaderConnection(Supplier<NodeCredentials> newest, InetSocketAddress seed, Log log) {
    NodeCredentials first = newest.get();
    this.self = first.id();
    RpcClients clients =
        RpcClients.authenticated(() -> newest.get().tls(), RpcTrust.cluster(first.ca()));
    this.resolver = LeaderResolver.open(List.of(seed), clients, log);
    this.channel = resolver.channel();
  }

  /** Returns this node's id. */
  public NodeId self() {
    return self;
  }

  /** Returns new pauses between attempts to reach the leader. */
  public Backoff backoff() {
    return new Backoff(FIRST_PAUSE, LONGEST_PAUSE);
  }

  /** Returns the channel to the leader. It ends with this connection. */
  public Channel channel() {
    return channel;
  }

  /** Ends the calls in flight, for which it waits a moment, and the search for the leader. */
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
