package dev.polis.rpc.resolver;

import dev.polis.base.values.Value;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import io.grpc.ManagedChannel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Keeps the channel to the leader that all organs of a node share. The last user closes it. So a
 * replaced organ needs no handshake, whose other side a leader in the same process would compute on
 * the threads of its callers.
 */
final class SharedLeader {

  /** The seconds for the end of running calls when the channel is closed. */
  private static final long GRACE_SECONDS = 2;

  private static final Map<Key, SharedLeader> OPEN = new HashMap<>();

  /** What users of one channel have in common. */
  private record Key(NodeId self, Set<NodeEndpoint> seeds) {}

  private final Key key;
  private final LeaderResolver resolver;
  private final ManagedChannel channel;
  private final List<LeaderConnection> users = new ArrayList<>(); // guarded by OPEN

  private SharedLeader(Key key, Log log) {
    this.key = key;
    RpcClients clients =
        RpcClients.authenticated(
            () -> newestUser().credentials().tls(),
            RpcTrust.cluster(() -> newestUser().credentials().ca()));
    this.resolver = LeaderResolver.open(key.seeds(), clients, log);
    this.channel = resolver.channel();
  }

  /**
   * Lets a connection use the channel, which the first one opens.
   *
   * @param seeds the curators that it asks first
   * @param log receives how the leader is found
   */
  static SharedLeader join(LeaderConnection user, Set<NodeEndpoint> seeds, Log log) {
    Key key = new Key(user.self(), seeds);
    synchronized (OPEN) {
      SharedLeader shared = OPEN.computeIfAbsent(key, each -> new SharedLeader(each, log));
      shared.users.add(user);
      return shared;
    }
  }

  Value<Set<NodeEndpoint>> curators() {
    return resolver.listed();
  }

  ManagedChannel channel() {
    return channel;
  }

  /** Returns the user whose credentials the channel presents: that of the newest code. */
  private LeaderConnection newestUser() {
    synchronized (OPEN) {
      if (users.isEmpty()) {
        throw new IllegalStateException("the channel to the leader is closed");
      }
      return users.getLast();
    }
  }

  /** Closes the channel and the search for the leader after the last user. */
  void leave(LeaderConnection user) {
    synchronized (OPEN) {
      if (!users.remove(user) || !users.isEmpty()) {
        return;
      }
      OPEN.remove(key);
    }
    channel.shutdownNow();
    try {
      channel.awaitTermination(GRACE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    resolver.close();
  }
}
