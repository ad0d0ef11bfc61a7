package dev.polis.rpc;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Crl;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.rpc.audit.AuditLog;
import io.grpc.BindableService;
import io.grpc.ServerServiceDefinition;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Implements the RPC host without a framework. Its creator closes it, which closes all listeners
 * and ends all calls.
 */
public final class LocalRpcHost implements RpcHost, AutoCloseable {
  /** Number of threads that move bytes; the calls themselves run on virtual threads. */
  private static final int EVENT_THREADS = 2;

  /**
   * The interval at which the host ends late calls of strangers and calls of members whose
   * certificate has ended, and measures a full heap again.
   */
  private static final Duration LATE = Duration.ofSeconds(1);

  /** The interval between two looks for floods; a person sees a flood without delay. */
  static final Duration LOOK = Duration.ofSeconds(5);

  private final Log log;
  private final AuditLog audit;
  private final ComputingThreads computing;
  private volatile TlsIdentity presented; // null while this node has no credentials
  private final TlsKeys keys = new TlsKeys(() -> Optional.ofNullable(presented));
  private final CallIdentity identity;
  private final MutableValue<CaBundle> authorities = new MutableValue<>();
  private final MutableValue<RpcRevocations> revocations =
      new MutableValue<>(new RpcRevocations.None());
  private final int mostHeld;
  private final Semaphore hold;
  private final HeapRoom heap;
  private final Map<String, HostListener> listeners = new TreeMap<>();
  private final MutableValue<List<RpcListenerStatus>> status = new MutableValue<>();
  private final ExecutorService executor =
      Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("rpc-", 0).factory());
  private final ScheduledExecutorService floods =
      Executors.newSingleThreadScheduledExecutor(Thread.ofVirtual().name("rpc-floods").factory());

  /** Accepts connections on a separate thread, so that no handshake delays the next connection. */
  private final EventLoopGroup acceptors =
      new MultiThreadIoEventLoopGroup(
          1,
          Thread.ofPlatform().daemon().name("rpc-accept-", 0).factory(),
          NioIoHandler.newFactory());

  private final EventLoopGroup events =
      new MultiThreadIoEventLoopGroup(
          EVENT_THREADS,
          Thread.ofPlatform().daemon().name("rpc-events-", 0).factory(),
          NioIoHandler.newFactory());

  /** Creates a host on the system's clock, whose audit log keeps nothing. */
  public LocalRpcHost(RpcSettings settings, LogTree logs) {
    this(settings, logs, InstantSource.system());
  }

  /** Creates a host whose audit log keeps nothing. */
  public LocalRpcHost(RpcSettings settings, LogTree logs, InstantSource clock) {
    this(settings, logs, clock, AuditLog.discarding(logs.log("rpc.audit")));
  }

  /**
   * Creates a host whose strangers have a room of their own, apart from the room of the process.
   */
  public LocalRpcHost(RpcSettings settings, LogTree logs, InstantSource clock, AuditLog audit) {
    this(
        settings,
        logs,
        clock,
        audit,
        new StrangerRoom(settings.limits().connections(), settings.limits().strangerCalls()));
  }

  /**
   * Creates a host.
   *
   * @param settings the listeners and the limits
   * @param logs receives the reports below {@code rpc}, and changes at {@code audit}
   * @param clock judges whether certificates are valid
   * @param audit records the changes with their callers; the host closes it
   * @param strangers the room of strangers
   */
  LocalRpcHost(
      RpcSettings settings,
      LogTree logs,
      InstantSource clock,
      AuditLog audit,
      StrangerRoom strangers) {
    this(settings, logs, clock, audit, strangers, new HeapRoom(logs.log("rpc")));
  }

  /** Creates a host that refuses calls when this heap is full; the host closes it. */
  LocalRpcHost(
      RpcSettings settings,
      LogTree logs,
      InstantSource clock,
      AuditLog audit,
      StrangerRoom strangers,
      HeapRoom heap) {
    this.heap = heap;
    this.log = logs.log("rpc");
    this.audit = audit;
    this.computing = new ComputingThreads(log);
    CallAudit kept = new CallAudit(audit);
    this.identity = new CallIdentity(clock, log);
    this.mostHeld = settings.limits().heldCalls();
    this.hold = new Semaphore(mostHeld);
    RequestRoom requests = requests(heap, settings.limits().retryDelay());
    for (RpcSettings.Listener listener : settings.listeners()) {
      CallRouter router =
          new CallRouter(
              listener.name(),
              identity,
              new CallLog(logs, kept, listener.name()),
              hold,
              settings.limits(),
              heap,
              requests,
              executor,
              events);
      listeners.put(
          listener.name(),
          new HostListener(
              listener,
              settings.limits(),
              router,
              strangers,
              keys,
              identity::member,
              logs.log("rpc." + listener.name()),
              acceptors,
              events));
    }
    publish();
    floods.scheduleWithFixedDelay(
        this::lookForFloods, LOOK.toNanos(), LOOK.toNanos(), TimeUnit.NANOSECONDS);
    floods.scheduleWithFixedDelay(
        strangers::endLate, LATE.toNanos(), LATE.toNanos(), TimeUnit.NANOSECONDS);
    floods.scheduleWithFixedDelay(heap::look, LATE.toNanos(), LATE.toNanos(), TimeUnit.NANOSECONDS);
    floods.scheduleWithFixedDelay(
        this::expel, LATE.toNanos(), LATE.toNanos(), TimeUnit.NANOSECONDS);
  }

  /**
   * Returns the room for the calls of all members, a quarter of the heap. In the smallest heap it
   * holds six of the largest requests, or 1,536 open calls. The bytes in transit lie outside the
   * heap, in as much memory again.
   */
  private static RequestRoom requests(HeapRoom heap, Duration retry) {
    return new RequestRoom(
        heap.most() / 4,
        most ->
            RpcException.unavailable(
                "this call has ended: open calls, answers that are not read, and requests of members may take %d bytes of this node together, and this one took the most of the member with the most; call again with fewer at a time"
                    .formatted(most),
                retry));
  }

  private void lookForFloods() {
    boolean changed = SharedPort.lookForFloods(log);
    for (HostListener listener : listeners.values()) {
      changed |= listener.lookForFloods();
    }
    if (changed) {
      publish();
    }
  }

  @Override
  public void identify(NodeCredentials credentials) {
    identity.trust(credentials.ca());
    publishAuthorities();
    present(credentials);
  }

  @Override
  public void identify(NodeCredentials credentials, RpcRevocations known) {
    RpcRevocations inForce = identity.trust(credentials.ca(), known);
    revocations.set(inForce);
    publishAuthorities();
    if (inForce instanceof RpcRevocations.Unknown unknown) {
      log.warning("%s", unknown.describe());
    }
    present(credentials);
  }

  private void present(NodeCredentials credentials) {
    presented = credentials.tls();
    log.info(
        "identified as %s, certificate valid until %s",
        credentials.id(), credentials.certificate().getNotAfter().toInstant());
    try {
      each(listener -> listener.settings().tls(), this::open);
    } finally {
      publish();
    }
  }

  private void open(HostListener listener) {
    if (listener.isOpen()) {
      return;
    }
    listener.open();
    InetSocketAddress at = listener.address();
    String where = HostPort.of(at);
    if (listener.settings().tls()) {
      log.info("listener '%s' open at %s", listener.settings().name(), where);
    } else {
      log.warning(
          "listener '%s' open at %s in plain text: every client that reaches it may use it",
          listener.settings().name(), where);
    }
  }

  @Override
  public void forget() {
    identity.trustNobody();
    revocations.set(new RpcRevocations.None());
    presented = null;
    each(
        listener -> listener.settings().tls(),
        listener -> listener.close("closed: the node has no credentials any more"));
    publish();
  }

  @Override
  public void revoke(Crl list) {
    identity.revoke(list);
    revocations.set(new RpcRevocations.Known(list));
    publishAuthorities();
    expel();
    log.info("revocation list: %s", list);
  }

  @Override
  public void trust(CaBundle trusted) {
    identity.replace(trusted);
    publishAuthorities();
    expel();
  }

  private void publishAuthorities() {
    identity
        .authorities()
        .filter(now -> !authorities.peek().equals(Optional.of(now)))
        .ifPresent(
            now -> {
              authorities.set(now);
              log.info("trusted CAs: %s", now);
            });
  }

  @Override
  public Value<CaBundle> authorities() {
    return authorities;
  }

  @Override
  public void admit(RpcOperators operators) {
    identity.admit(operators);
    expel();
    log.info("operators: %s", operators.describe());
  }

  private void expel() {
    each(listener -> true, listener -> listener.expel(identity::lost));
  }

  @Override
  public Optional<Crl> revoked() {
    return identity.revocations();
  }

  @Override
  public ComputingThreads computing() {
    return computing;
  }

  @Override
  public AuditLog audit() {
    return audit;
  }

  @Override
  public Value<RpcRevocations> revocations() {
    return revocations;
  }

  @Override
  public RpcRegistration serve(String listener, BindableService service) {
    return serve(List.of(listener), service, 0);
  }

  /** Serves on several listeners; the provider with the highest ranking gets the calls. */
  RpcRegistration serve(Collection<String> names, BindableService service, int ranking) {
    List<HostListener> targets = names.stream().map(this::listener).toList();
    ServerServiceDefinition definition = service.bindService();
    Set<String> nonBlocking =
        service instanceof NonBlockingMethods some ? some.nonBlockingMethods() : Set.of();
    List<Runnable> undo = new CopyOnWriteArrayList<>();
    for (HostListener target : targets) {
      CallProvider provider = target.router().add(definition, nonBlocking, ranking);
      undo.add(() -> target.router().remove(provider));
      if (!target.settings().tls()) {
        openForDevelopers(target);
      }
    }
    publish();
    return once(
        () -> {
          undo.forEach(Runnable::run);
          publish();
        });
  }

  /**
   * Opens a plain-text listener; logs a failure, which does not stop the organ that offers the
   * service.
   */
  private void openForDevelopers(HostListener listener) {
    try {
      open(listener);
    } catch (RpcListenException e) {
      log.error("%s", e.getMessage());
    }
  }

  private HostListener listener(String name) {
    HostListener listener = listeners.get(name);
    if (listener == null) {
      throw new IllegalArgumentException(
          "there is no listener '%s'; the listeners are %s".formatted(name, listeners.keySet()));
    }
    return listener;
  }

  private static RpcRegistration once(Runnable undo) {
    AtomicBoolean done = new AtomicBoolean();
    return () -> {
      if (done.compareAndSet(false, true)) {
        undo.run();
      }
    };
  }

  @Override
  public Value<List<RpcListenerStatus>> listeners() {
    return status;
  }

  private void publish() {
    status.update(
        before ->
            Stream.concat(
                    listeners.values().stream().map(HostListener::status), SharedPort.flooded())
                .toList());
  }

  /**
   * Returns the address of a listener, with the chosen port if the configured one is 0.
   *
   * @throws IllegalArgumentException if there is no such listener
   */
  public InetSocketAddress address(String name) {
    return listener(name).address();
  }

  @Override
  public RpcStatistics statistics() {
    return new RpcStatistics(
        listeners.values().stream()
            .flatMap(listener -> listener.router().statistics().stream())
            .toList(),
        mostHeld - hold.availablePermits(),
        Stream.concat(
                listeners.values().stream().map(HostListener::connections), SharedPort.statistics())
            .toList());
  }

  private void each(Predicate<HostListener> which, Consumer<HostListener> what) {
    listeners.values().stream().filter(which).forEach(what);
  }

  @Override
  public void close() {
    each(listener -> true, listener -> listener.router().stop());
    each(listener -> true, listener -> listener.close("closed: the node is stopping"));
    floods.shutdownNow();
    acceptors.shutdownGracefully(0, 2, TimeUnit.SECONDS);
    // No quiet period, since no new work arrives.
    events.shutdownGracefully(0, 2, TimeUnit.SECONDS).awaitUninterruptibly(3, TimeUnit.SECONDS);
    // After the event loops, which report the ends of connections to it: a call that misses its end
    // keeps its feed.
    executor.shutdownNow();
    heap.close();
    computing.close();
    publish();
    audit.close();
  }
}
