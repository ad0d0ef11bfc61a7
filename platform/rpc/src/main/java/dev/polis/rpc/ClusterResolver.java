package dev.polis.rpc;

import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.event.WatcherClosedException;
import dev.polis.logtree.Log;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import dev.polis.wire.curator.Node;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.Context;
import io.grpc.EquivalentAddressGroup;
import io.grpc.ManagedChannel;
import io.grpc.NameResolver;
import io.grpc.NameResolverProvider;
import io.grpc.StatusOr;
import io.grpc.StatusRuntimeException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Knows where the curator's leader is. It asks every curator it knows of, each on a stream that
 * reports changes, and learns of further curators from the leader's list of nodes.
 *
 * <pre>
 *   seeds ─▶ known curators ─┬─ GetCurrentLeader ─▶ leader ─▶ channels made by RpcClients.leader
 *                ▲           └─ GetCurrentLeader ─▶   │
 *                └────────── Watch(all nodes) ◀───────┘
 * </pre>
 *
 * <p>Several channels may share one resolver. Its opener closes it.
 */
public final class ClusterResolver implements AutoCloseable {
  /** Name of the leader, for channels. */
  static final String TARGET = "polis:///control";

  private static final String SCHEME = "polis";

  /** Port of a curator that is named without one. */
  public static final int CURATOR_PORT = 7835;

  /** The first pause after a failure; each further one is half as long again. */
  private static final Duration FIRST_PAUSE = Duration.ofMillis(200);

  /** The longest pause: what a cluster that comes back may cost its clients. */
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(10);

  private static final double GROWTH = 1.5;

  private final RpcClients clients;
  private final Log log;
  private final boolean learns;
  private final ExecutorService tasks =
      Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("rpc-resolver-", 0).factory());
  private final MutableValue<InetSocketAddress> leader = new MutableValue<>();
  private final MutableValue<Set<String>> curators = new MutableValue<>(Set.of());
  private final AtomicLong hurry = new AtomicLong();

  // Guarded by this.
  private final Map<InetSocketAddress, Future<?>> followed = new HashMap<>();
  private final Set<InetSocketAddress> seeds;
  private boolean closed;

  private ClusterResolver(
      Collection<InetSocketAddress> seeds, RpcClients clients, Log log, boolean learns) {
    if (seeds.isEmpty()) {
      throw new IllegalArgumentException(
          "no address to begin with: name at least one curator of the cluster");
    }
    this.seeds = Set.copyOf(seeds);
    this.clients = clients;
    this.log = log;
    this.learns = learns;
    seeds.forEach(this::follow);
    if (learns) {
      tasks.submit(this::learn);
    }
  }

  /**
   * A resolver that also learns of curators it was not told about; for clients with a certificate
   * of the cluster.
   *
   * @param seeds addresses of some curators, at least one
   */
  public static ClusterResolver open(
      Collection<InetSocketAddress> seeds, RpcClients clients, Log log) {
    return new ClusterResolver(seeds, clients, log, true);
  }

  /**
   * A resolver that asks only the given curators; for clients that the leader would not show its
   * list.
   */
  public static ClusterResolver fixed(
      Collection<InetSocketAddress> seeds, RpcClients clients, Log log) {
    return new ClusterResolver(seeds, clients, log, false);
  }

  /**
   * An address from text: {@code host} or {@code host:port}, IPv6 addresses with a port in
   * brackets.
   *
   * @throws IllegalArgumentException if it is neither, or the host has no address
   */
  public static InetSocketAddress address(String text) {
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
    int port = parsed.getPort() < 0 ? CURATOR_PORT : parsed.getPort();
    InetSocketAddress address = new InetSocketAddress(parsed.getHost(), port);
    if (address.isUnresolved()) {
      throw new IllegalArgumentException("host \"" + parsed.getHost() + "\" has no address");
    }
    return address;
  }

  /** Where the leader is; holds nothing until one was found. */
  public Value<InetSocketAddress> leader() {
    return leader;
  }

  /** The curators that are asked, as {@code address:port}, sorted. */
  public Value<Set<String>> curators() {
    return curators;
  }

  // ---- curators

  private synchronized void follow(InetSocketAddress curator) {
    if (closed || followed.containsKey(curator)) {
      return;
    }
    followed.put(curator, tasks.submit(() -> ask(curator)));
    publishCurators();
  }

  /** Asks no more those that are neither seeds nor listed. */
  private synchronized void keep(Set<InetSocketAddress> listed) {
    followed
        .entrySet()
        .removeIf(
            entry -> {
              boolean gone = !seeds.contains(entry.getKey()) && !listed.contains(entry.getKey());
              if (gone) {
                entry.getValue().cancel(true);
              }
              return gone;
            });
    listed.forEach(this::follow);
    publishCurators();
  }

  private void publishCurators() {
    Set<String> names = new TreeSet<>();
    followed.keySet().forEach(curator -> names.add(text(curator)));
    curators.set(names);
  }

  private static String text(InetSocketAddress address) {
    return address.getAddress().getHostAddress() + ":" + address.getPort();
  }

  /** One curator's life: asks it who leads, again and again. */
  private void ask(InetSocketAddress curator) {
    ManagedChannel channel = clients.dial(curator);
    try {
      untilInterrupted(
          "curator " + text(curator),
          () -> {
            Iterator<GetCurrentLeaderResponse> answers =
                CuratorLocalGrpc.newBlockingStub(channel)
                    .getCurrentLeader(GetCurrentLeaderRequest.getDefaultInstance());
            boolean told = false;
            while (answers.hasNext()) {
              told |= heard(curator, answers.next());
            }
            return told;
          });
    } finally {
      channel.shutdownNow();
    }
  }

  private boolean heard(InetSocketAddress from, GetCurrentLeaderResponse answer) {
    if (answer.getLeaderHost().isEmpty()) {
      // A leader that does not know its own address yet is reached the way it was asked.
      if (!answer.getLeaderNodeId().equals(answer.getThisNodeId())) {
        return false;
      }
      found(from);
      return true;
    }
    int port = answer.getLeaderPort() == 0 ? CURATOR_PORT : answer.getLeaderPort();
    found(new InetSocketAddress(InetAddress.ofLiteral(answer.getLeaderHost()), port));
    return true;
  }

  private void found(InetSocketAddress address) {
    if (!leader.peek().filter(address::equals).isPresent()) {
      log.info("the curator's leader is at %s", text(address));
      leader.set(address);
    }
    follow(address);
  }

  // ---- the list of nodes

  private void learn() {
    ManagedChannel channel = clients.leader(this);
    try {
      untilInterrupted(
          "list of curators",
          () -> {
            Iterator<WatchEvent> events =
                CuratorGrpc.newBlockingStub(channel)
                    .watch(
                        WatchRequest.newBuilder()
                            .setNodesInCluster(WatchRequest.NodesInCluster.getDefaultInstance())
                            .build());
            read(events);
            return true;
          });
    } finally {
      channel.shutdownNow();
    }
  }

  private void read(Iterator<WatchEvent> events) {
    Map<String, InetSocketAddress> listed = new HashMap<>();
    boolean complete = false;
    while (events.hasNext()) {
      WatchEvent event = events.next();
      event.getNodesList().forEach(node -> note(listed, node));
      event.getNodeTombstonesList().forEach(gone -> listed.remove(gone.getNodeId()));
      complete |= event.getProgress() == WatchEvent.Progress.PROGRESS_LAST_BACKLOGGED;
      if (complete) {
        keep(Set.copyOf(listed.values()));
      }
    }
  }

  private static void note(Map<String, InetSocketAddress> listed, Node node) {
    curator(node)
        .ifPresentOrElse(
            address -> listed.put(node.getId(), address), () -> listed.remove(node.getId()));
  }

  private static Optional<InetSocketAddress> curator(Node node) {
    if (!node.getStatus().hasRunningCurator() || node.getStatus().getExternalAddress().isEmpty()) {
      return Optional.empty();
    }
    int port = node.getStatus().getRunningCurator().getPort();
    try {
      return Optional.of(
          new InetSocketAddress(
              InetAddress.ofLiteral(node.getStatus().getExternalAddress()),
              port == 0 ? CURATOR_PORT : port));
    } catch (IllegalArgumentException notAnAddress) {
      // Nodes say what they like about themselves; one that says nonsense is not asked.
      return Optional.empty();
    }
  }

  // ---- patience

  /** Something that may fail; says whether it was of use. */
  private interface Attempt {
    boolean run();
  }

  private void untilInterrupted(String what, Attempt attempt) {
    Context.CancellableContext own = Context.ROOT.withCancellation();
    Context previous = own.attach();
    try {
      Duration pause = FIRST_PAUSE;
      while (!Thread.currentThread().isInterrupted()) {
        pause = attempt(what, attempt) ? FIRST_PAUSE : longer(pause);
        pause(pause);
      }
    } catch (InterruptedException end) {
      Thread.currentThread().interrupt();
    } finally {
      own.detach(previous);
      own.cancel(null);
    }
  }

  private boolean attempt(String what, Attempt attempt) {
    try {
      return attempt.run();
    } catch (StatusRuntimeException failure) {
      log.v(1).info("%s: %s", what, failure.getMessage());
      return false;
    } catch (RuntimeException nonsense) {
      // An answer nobody foresaw must not end the asking.
      log.warning("%s cannot be used: %s", what, nonsense, nonsense);
      return false;
    }
  }

  private static Duration longer(Duration pause) {
    long millis = (long) (pause.toMillis() * GROWTH);
    return Duration.ofMillis(Math.min(millis, LONGEST_PAUSE.toMillis()));
  }

  /**
   * Waits, up to a quarter less than told so that clients do not come all at once; a failing
   * channel cuts it short.
   */
  private void pause(Duration most) throws InterruptedException {
    long millis = most.toMillis();
    long nanos =
        TimeUnit.MILLISECONDS.toNanos(
            millis - ThreadLocalRandom.current().nextLong(millis / 4 + 1));
    long end = System.nanoTime() + nanos;
    synchronized (hurry) {
      long before = hurry.get();
      while (hurry.get() == before && end - System.nanoTime() > 0) {
        TimeUnit.NANOSECONDS.timedWait(hurry, end - System.nanoTime());
      }
    }
  }

  private void hurry() {
    synchronized (hurry) {
      hurry.incrementAndGet();
      hurry.notifyAll();
    }
  }

  // ---- channels

  /** What a channel takes. */
  NameResolver.Factory factory() {
    return new Provider();
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    tasks.shutdownNow();
    try {
      // Its tasks wait for nothing but calls and pauses, both of which an interruption ends.
      tasks.awaitTermination(5, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private final class Provider extends NameResolverProvider {
    @Override
    protected boolean isAvailable() {
      return true;
    }

    @Override
    protected int priority() {
      return 5; // grpc-java's own middle; there is no other provider of this scheme
    }

    @Override
    public String getDefaultScheme() {
      return SCHEME;
    }

    @Override
    public Collection<Class<? extends SocketAddress>> getProducedSocketAddressTypes() {
      return Set.of(InetSocketAddress.class);
    }

    @Override
    public NameResolver newNameResolver(URI target, NameResolver.Args args) {
      return target.getScheme().equals(SCHEME) ? new Following() : null;
    }
  }

  /** Tells one channel of each leader. */
  private final class Following extends NameResolver {
    private final Watcher<InetSocketAddress> watcher = leader.watch();

    @Override
    public String getServiceAuthority() {
      return "control";
    }

    @Override
    public void start(Listener2 listener) {
      Thread.ofVirtual().name("rpc-resolver-channel").start(() -> tell(listener));
    }

    private void tell(Listener2 listener) {
      try {
        while (true) {
          InetSocketAddress address = watcher.get();
          listener.onResult(
              ResolutionResult.newBuilder()
                  .setAddressesOrError(
                      StatusOr.fromValue(List.of(new EquivalentAddressGroup(address))))
                  .build());
        }
      } catch (WatcherClosedException channelGone) {
        return;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    @Override
    public void refresh() {
      hurry();
    }

    @Override
    public void shutdown() {
      watcher.close();
    }
  }
}
