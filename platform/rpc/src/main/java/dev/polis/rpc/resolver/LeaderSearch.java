package dev.polis.rpc.resolver;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.rpc.HostPort;
import dev.polis.rpc.RpcClients;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import io.grpc.ManagedChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;

/**
 * Opens a stream to each known curator, which reports the leader at each change, and publishes the
 * leader. Safe for any thread.
 */
final class LeaderSearch {
  /** The default port of a curator. */
  static final int CURATOR_PORT = 7835;

  private final Set<NodeEndpoint> seeds;
  private final RpcClients clients;
  private final Log log;
  private final MutableValue<NodeEndpoint> leader;
  private final MutableValue<Set<String>> curators = new MutableValue<>(Set.of());
  private final RetryLoop retry;
  private final ExecutorService tasks;

  // Guarded by this.
  private final Map<NodeEndpoint, Future<?>> asked = new HashMap<>();
  private boolean closed;

  /**
   * Creates a search that starts later.
   *
   * @param seeds the curators that are always searched, listed by the leader or not
   * @param leader receives the leader
   */
  LeaderSearch(
      Collection<NodeEndpoint> seeds,
      RpcClients clients,
      Log log,
      MutableValue<NodeEndpoint> leader,
      RetryLoop retry,
      ExecutorService tasks) {
    this.seeds = Set.copyOf(seeds);
    this.clients = clients;
    this.log = log;
    this.leader = leader;
    this.retry = retry;
    this.tasks = tasks;
  }

  void start() {
    seeds.forEach(this::add);
  }

  /** Ends all streams, and opens no further ones. */
  synchronized void close() {
    closed = true;
  }

  /** Returns the searched curators, as {@code address:port}. */
  Value<Set<String>> curators() {
    return curators;
  }

  private synchronized void add(NodeEndpoint curator) {
    if (closed || asked.containsKey(curator)) {
      return;
    }
    asked.put(curator, tasks.submit(() -> ask(curator)));
    publish();
  }

  /** Searches these curators and the seeds from now on, and no others. */
  synchronized void keep(Set<NodeEndpoint> listed) {
    asked
        .entrySet()
        .removeIf(
            entry -> {
              boolean gone = !seeds.contains(entry.getKey()) && !listed.contains(entry.getKey());
              if (gone) {
                entry.getValue().cancel(true);
              }
              return gone;
            });
    listed.forEach(this::add);
    publish();
  }

  private void publish() {
    Set<String> names = new TreeSet<>();
    asked.keySet().forEach(curator -> names.add(HostPort.of(curator.address())));
    curators.set(names);
  }

  /** Reads the leader from one curator, again and again, until the search excludes this curator. */
  private void ask(NodeEndpoint curator) {
    ManagedChannel channel = clients.dial(curator);
    try {
      retry.untilInterrupted(
          "curator " + HostPort.of(curator.address()), () -> answers(curator, channel));
    } finally {
      channel.shutdownNow();
    }
  }

  /** Reads one stream to its end; returns whether it had a useful answer. */
  private boolean answers(NodeEndpoint curator, ManagedChannel channel) {
    Iterator<GetCurrentLeaderResponse> answers =
        CuratorLocalGrpc.newBlockingStub(channel)
            .getCurrentLeader(GetCurrentLeaderRequest.getDefaultInstance());
    boolean useful = false;
    while (answers.hasNext()) {
      Optional<NodeEndpoint> named = leader(curator, answers.next());
      named.ifPresent(this::found);
      useful |= named.isPresent();
    }
    return useful;
  }

  private Optional<NodeEndpoint> leader(NodeEndpoint from, GetCurrentLeaderResponse answer) {
    String host = answer.getLeaderHost();
    if (host.isEmpty()) {
      // A leader that does not know its own address yet has the address of this stream.
      return Optional.of(from).filter(self -> answer.getLeaderNodeId().equals(self.node().text()));
    }
    if (!NodeId.matches(answer.getLeaderNodeId())) {
      log.warning(
          "the curator at %s names \"%s\" as the leader, which is no node id; this node ignores the answer",
          HostPort.of(from.address()), answer.getLeaderNodeId());
      return Optional.empty();
    }
    int port = answer.getLeaderPort() == 0 ? CURATOR_PORT : answer.getLeaderPort();
    try {
      return Optional.of(
          new NodeEndpoint(
              NodeId.parse(answer.getLeaderNodeId()),
              new InetSocketAddress(InetAddress.ofLiteral(host), port)));
    } catch (IllegalArgumentException noAddress) {
      log.warning(
          "the curator at %s names \"%s\" as the leader's address, which is not an IP address; this node ignores the answer",
          HostPort.of(from.address()), host);
      return Optional.empty();
    }
  }

  private void found(NodeEndpoint named) {
    if (!leader.peek().filter(named::equals).isPresent()) {
      log.info("the curator's leader is %s at %s", named.node(), HostPort.of(named.address()));
      leader.set(named);
    }
    add(named);
  }
}
