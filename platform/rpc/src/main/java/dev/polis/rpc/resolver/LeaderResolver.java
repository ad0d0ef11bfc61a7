package dev.polis.rpc.resolver;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeEndpoint;
import dev.polis.rpc.RpcClients;
import io.grpc.ManagedChannel;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Follows the leader of a cluster's curator from node to node. Several channels may share one
 * resolver. Its opener closes it, after the channels. Safe for any thread.
 */
public final class LeaderResolver implements AutoCloseable {
  /** The seconds that a close waits for calls and pauses, both of which an interrupt ends. */
  private static final long CLOSE_SECONDS = 5;

  private final RpcClients clients;
  private final ExecutorService tasks =
      Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("resolver-", 0).factory());
  private final MutableValue<NodeEndpoint> leader = new MutableValue<>();
  private final RetryLoop retry;
  private final LeaderSearch search;
  private final MutableValue<Set<NodeEndpoint>> listed = new MutableValue<>();

  private LeaderResolver(Collection<NodeEndpoint> seeds, RpcClients clients, Log log) {
    this.clients = clients;
    this.retry = new RetryLoop(log);
    this.search = new LeaderSearch(seeds, clients, log, leader, retry, tasks);
  }

  /**
   * Starts a resolver that also learns further curators.
   *
   * @param seeds some curators, at least one
   * @param clients makes the channels; must present a certificate of the cluster, since strangers
   *     may not read the list of nodes
   * @throws IllegalArgumentException if there is no seed
   */
  public static LeaderResolver open(Collection<NodeEndpoint> seeds, RpcClients clients, Log log) {
    LeaderResolver resolver = fixed(seeds, clients, log);
    CuratorList list = new CuratorList(resolver::channel, resolver.retry, resolver::keep);
    resolver.tasks.submit(list::follow);
    return resolver;
  }

  /**
   * Starts a resolver that uses only the given curators and their leader.
   *
   * @param seeds some curators, at least one
   * @throws IllegalArgumentException if there is no seed
   */
  public static LeaderResolver fixed(Collection<NodeEndpoint> seeds, RpcClients clients, Log log) {
    if (seeds.isEmpty()) {
      throw new IllegalArgumentException(
          "no node to begin with: name at least one curator of the cluster");
    }
    LeaderResolver resolver = new LeaderResolver(seeds, clients, log);
    resolver.search.start();
    return resolver;
  }

  /** Reads the address of a curator, as {@link #address(String, int)} does. */
  public static InetSocketAddress address(String text) {
    return address(text, LeaderSearch.CURATOR_PORT);
  }

  /**
   * Reads an address: {@code host} or {@code host:port}, IPv6 addresses with a port in brackets.
   *
   * @param usual the default port
   * @throws IllegalArgumentException if the text is neither, or the host has no address
   */
  public static InetSocketAddress address(String text, int usual) {
    URI parsed;
    try {
      boolean bareIpv6 = text.indexOf(':') != text.lastIndexOf(':') && !text.startsWith("[");
      parsed = URI.create("//" + (bareIpv6 ? "[" + text + "]" : text));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "\"" + text + "\" is no address; write host or host:port", e);
    }
    if (parsed.getHost() == null) {
      throw new IllegalArgumentException("\"" + text + "\" is no address; write host or host:port");
    }
    int port = parsed.getPort() < 0 ? usual : parsed.getPort();
    InetSocketAddress address = new InetSocketAddress(parsed.getHost(), port);
    if (address.isUnresolved()) {
      throw new IllegalArgumentException("host \"" + parsed.getHost() + "\" has no address");
    }
    return address;
  }

  /**
   * Opens a channel to the leader, whichever node leads. While no leader is known or reachable,
   * calls wait until their deadline: give each call a deadline. A channel accepts no other node
   * than the one that the known curators name. The caller shuts the channel down.
   */
  public ManagedChannel channel() {
    return LeaderNames.dial(clients, leader, retry::hurry, RetryLoop.LONGEST_PAUSE);
  }

  private void keep(Set<NodeEndpoint> curators) {
    search.keep(curators);
    if (!listed.peek().filter(curators::equals).isPresent()) {
      listed.set(curators);
    }
  }

  /**
   * Returns the endpoints of all curators that can lead, as the leader lists them; the value is
   * empty before the first list.
   */
  public Value<Set<NodeEndpoint>> listed() {
    return listed;
  }

  /** Returns the leader; the value is empty before the first leader. */
  public Value<NodeEndpoint> leader() {
    return leader;
  }

  /** Returns the searched curators, as {@code address:port}, sorted. */
  public Value<Set<String>> curators() {
    return search.curators();
  }

  @Override
  public void close() {
    search.close();
    tasks.shutdownNow();
    try {
      tasks.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
