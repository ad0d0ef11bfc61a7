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
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;

/**
 * Opens a stream to each known curator, which reports the leader at each change, and publishes the
 * leader. Safe for any thread.
 *
 * <p>Curators may contradict each other: one that is cut off from the others names the former
 * leader, perhaps itself, until its lease ends. So the search publishes the leader that most
 * curators name on their open streams, and of several such leaders the one that was named last.
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
  private final SequencedMap<NodeEndpoint, NodeEndpoint> named =
      new LinkedHashMap<>(); // by curator
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
    // gRPC's own pause grows to two minutes, during which no call connects.
    channel.resetConnectBackoff();
    Iterator<GetCurrentLeaderResponse> answers =
        CuratorLocalGrpc.newBlockingStub(channel)
            .getCurrentLeader(GetCurrentLeaderRequest.getDefaultInstance());
    boolean useful = false;
    try {
      while (answers.hasNext()) {
        Optional<NodeEndpoint> answer = leader(curator, answers.next());
        answer.ifPresentOrElse(found -> found(curator, found), () -> forget(curator));
        useful |= answer.isPresent();
      }
    } finally {
      forget(curator);
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

  private synchronized void found(NodeEndpoint from, NodeEndpoint answer) {
    named.remove(from);
    named.put(from, answer);
    choose();
    NodeEndpoint chosen = leader.peek().orElseThrow();
    if (!chosen.equals(answer)) {
      log.info(
          "the curator at %s names %s as the leader, but more curators name %s",
          HostPort.of(from.address()), answer.node(), chosen.node());
    }
    add(answer);
  }

  /** Drops the answer of a curator whose stream has ended, or that knows no leader any more. */
  private synchronized void forget(NodeEndpoint curator) {
    if (named.remove(curator) != null && !named.isEmpty()) {
      choose();
    }
  }

  private void choose() {
    Map<NodeEndpoint, Integer> votes = new HashMap<>();
    named.values().forEach(each -> votes.merge(each, 1, Integer::sum));
    int most = votes.values().stream().max(Integer::compare).orElseThrow();
    NodeEndpoint chosen =
        named.sequencedValues().reversed().stream()
            .filter(each -> votes.get(each) == most)
            .findFirst()
            .orElseThrow();
    if (!leader.peek().filter(chosen::equals).isPresent()) {
      log.info("the curator's leader is %s at %s", chosen.node(), HostPort.of(chosen.address()));
      leader.set(chosen);
    }
  }
}
