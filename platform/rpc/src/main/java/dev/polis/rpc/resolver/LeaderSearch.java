package dev.polis.rpc.resolver;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.logtree.Log;
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

  private final Set<InetSocketAddress> seeds;
  private final RpcClients clients;
  private final Log log;
  private final MutableValue<InetSocketAddress> leader;
  private final MutableValue<Set<String>> curators = new MutableValue<>(Set.of());
  private final RetryLoop retry;
  private final ExecutorService tasks;

  // Guarded by this.
  private final Map<InetSocketAddress, Future<?>> asked = new HashMap<>();
  private boolean closed;

  /**
   * Creates a search that starts later.
   *
   * @param seeds the curators that are always searched, listed by the leader or not
   * @param leader receives the leader's address
   */
  LeaderSearch(
      Collection<InetSocketAddress> seeds,
      RpcClients clients,
      Log log,
      MutableValue<InetSocketAddress> leader,
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

  private synchronized void add(InetSocketAddress curator) {
    if (closed || asked.containsKey(curator)) {
      return;
    }
    asked.put(curator, tasks.submit(() -> ask(curator)));
    publish();
  }

  /** Searches these curators and the seeds from now on, and no others. */
  synchronized void keep(Set<InetSocketAddress> listed) {
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
    asked.keySet().forEach(curator -> names.add(HostPort.of(curator)));
    curators.set(names);
  }

  /** Reads the leader from one curator, again and again, until the search excludes this curator. */
  private void ask(InetSocketAddress curator) {
    ManagedChannel channel = clients.dial(curator);
    try {
      retry.untilInterrupted("curator " + HostPort.of(curator), () -> answers(curator, channel));
    } finally {
      channel.shutdownNow();
    }
  }

  /** Reads one stream to its end; returns whether it had a useful answer. */
  private boolean answers(InetSocketAddress curator, ManagedChannel channel) {
    Iterator<GetCurrentLeaderResponse> answers =
        CuratorLocalGrpc.newBlockingStub(channel)
            .getCurrentLeader(GetCurrentLeaderRequest.getDefaultInstance());
    boolean useful = false;
    while (answers.hasNext()) {
      Optional<InetSocketAddress> address = address(curator, answers.next());
      address.ifPresent(this::found);
      useful |= address.isPresent();
    }
    return useful;
  }

  private Optional<InetSocketAddress> address(
      InetSocketAddress from, GetCurrentLeaderResponse answer) {
    String host = answer.getLeaderHost();
    if (host.isEmpty()) {
      // A leader that does not know its own address yet has the address of this stream.
      return Optional.of(from)
          .filter(self -> answer.getLeaderNodeId().equals(answer.getThisNodeId()));
    }
    int port = answer.getLeaderPort() == 0 ? CURATOR_PORT : answer.getLeaderPort();
    try {
      return Optional.of(new InetSocketAddress(InetAddress.ofLiteral(host), port));
    } catch (IllegalArgumentException noAddress) {
      log.warning(
          "the curator at %s names \"%s\" as the leader's address, which is not an IP address; this node ignores the answer",
          HostPort.of(from), host);
      return Optional.empty();
    }
  }

  private void found(InetSocketAddress address) {
    if (!leader.peek().filter(address::equals).isPresent()) {
      log.info("the curator's leader is at %s", HostPort.of(address));
      leader.set(address);
    }
    add(address);
  }
}
