package dev.polis.rpc;

import io.grpc.Attributes;
import io.grpc.Context;
import io.grpc.Grpc;
import io.grpc.HandlerRegistry;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;
import java.util.function.Supplier;
import javax.net.ssl.SSLSession;

/**
 * Routes the calls of one listener to the providers of the services. It remembers every service it
 * has seen: a call of a method whose provider is away waits here.
 */
final class CallRouter extends HandlerRegistry {
  private final String listener;
  private final CallIdentity identity;
  private final CallLog log;

  /** Has a permit for each call that may wait for an absent provider, on all listeners together. */
  private final Semaphore hold;

  private final RpcSettings.Limits limits;
  private final HeapRoom heap;

  /** Holds the calls of members. */
  private final RequestRoom requests;

  private final Map<String, CallMethod> methods = new ConcurrentHashMap<>();
  private final Map<String, ServerMethodDefinition<Object, Object>> definitions =
      new ConcurrentHashMap<>();
  private final CallMethod unknown = CallMethod.unknown(unknownMethod());

  /** The time of the monotonic clock at which the newest method became known. */
  private volatile long grown = System.nanoTime();

  private final ServerMethodDefinition<Object, Object> refusal =
      ServerMethodDefinition.create(unknown.descriptor(), this::refuse);

  /** Runs the tasks that may wait. */
  private final Executor threads;

  private final EventLoopGroup loops;

  // Many calls read, join and leave at the same time; a change of the provider excludes them all.
  private final StampedLock serving = new StampedLock();
  // Guarded by serving; a value that is read without the lock may be out of date at once.
  private final Map<String, CallProvider> preferred = new ConcurrentHashMap<>();
  private final Set<CallInFlight> calls = ConcurrentHashMap.newKeySet();
  // Guarded by serving; written under its write lock.
  private final List<CallProvider> providers = new ArrayList<>();
  private long registrations;
  private volatile boolean stopped;
  private int draining;

  // Wakes calls that wait for a provider, and providers that wait for their calls. A thread that
  // holds serving never takes it.
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  CallRouter(
      String listener,
      CallIdentity identity,
      CallLog log,
      Semaphore hold,
      RpcSettings.Limits limits,
      HeapRoom heap,
      RequestRoom requests,
      Executor threads,
      EventLoopGroup loops) {
    this.listener = listener;
    this.identity = identity;
    this.log = log;
    this.hold = hold;
    this.limits = limits;
    this.heap = heap;
    this.requests = requests;
    this.threads = threads;
    this.loops = loops;
  }

  CallLog log() {
    return log;
  }

  // ---- providers

  CallProvider add(ServerServiceDefinition service, Set<String> nonBlocking, int ranking) {
    service.getMethods().forEach(method -> remember(method.getMethodDescriptor()));
    CallProvider provider =
        alone(
            () -> {
              CallProvider added = new CallProvider(service, nonBlocking, ranking, registrations++);
              providers.add(added);
              choose(added.service());
              return added;
            });
    wake();
    return provider;
  }

  private void remember(MethodDescriptor<?, ?> descriptor) {
    CallMethod method =
        methods.computeIfAbsent(descriptor.getFullMethodName(), name -> CallMethod.of(descriptor));
    definitions.computeIfAbsent(
        method.name(),
        name -> {
          grown = System.nanoTime();
          return ServerMethodDefinition.create(
              method.descriptor(), (call, headers) -> start(method, call, headers));
        });
  }

  /**
   * Returns whether organs may still register their first services, one after the other: a node's
   * port opens before the last one.
   */
  private boolean growing() {
    return definitions.isEmpty() || System.nanoTime() - grown < limits.holdTime().toNanos();
  }

  /**
   * Removes a provider: it gets no new call, its streams end, and its unary calls may finish within
   * the drain time. It does not wait for the call that asks for the removal itself.
   */
  void remove(CallProvider provider) {
    boolean removed =
        alone(
            () -> {
              boolean present = providers.remove(provider);
              choose(provider.service());
              return present;
            });
    if (!removed) {
      return;
    }
    // No further call joins this provider.
    provider.calls.forEach(call -> call.method().counters().drained());
    RpcException moved = away(provider.service(), "is being replaced or stopped");
    provider.calls.stream()
        .filter(call -> !call.method().unary() && !call.runsHere())
        .toList()
        .forEach(call -> call.abandon(moved));
    drain(provider, limits.drainTime()).forEach(call -> call.abandon(moved));
  }

  /** Waits for a provider's calls to end and returns those that took too long. */
  private List<CallInFlight> drain(CallProvider provider, Duration time) {
    alone(() -> draining++);
    lock.lock();
    try {
      long left = time.toNanos();
      while (left > 0 && provider.calls.stream().anyMatch(call -> !call.runsHere())) {
        left = changed.awaitNanos(left);
      }
    } catch (InterruptedException e) {
      // The interrupt asks for haste: the code below ends the calls and passes the interrupt on.
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
      alone(() -> draining--);
    }
    return provider.calls.stream().filter(call -> !call.runsHere()).toList();
  }

  /** Ends all calls and refuses new ones. */
  void stop() {
    alone(() -> stopped = true);
    wake();
    calls.forEach(
        call ->
            call.abandon(RpcException.unavailable("this node is stopping", limits.retryDelay())));
  }

  /** Runs a change while no call joins or leaves. */
  private <T> T alone(Supplier<T> change) {
    long stamp = serving.writeLock();
    try {
      return change.get();
    } finally {
      serving.unlockWrite(stamp);
    }
  }

  /** Cancels the calls of users and nodes that are no members of the cluster any more. */
  void expel() {
    for (CallInFlight call : calls) {
      try {
        identity.requireMember(call.caller());
        CallIdentity.Caller now = identity.present(call.caller());
        if (now != call.caller()) {
          call.method().rule().admit(now);
        }
      } catch (RpcException lost) {
        call.abandon(lost);
      }
    }
    // Also ends calls that wait for a provider.
    wake();
  }

  // ---- callers

  /** Returns the connection of a call; runs on the thread that serves the connection. */
  CallConnection connection(ServerCall<?, ?> call) {
    return new CallConnection(
        currentLoop(), call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR));
  }

  /** Returns the event loop that runs the calling thread: the one that serves its connection. */
  private Executor currentLoop() {
    for (EventExecutor loop : loops) {
      if (loop.inEventLoop()) {
        return loop;
      }
    }
    throw new IllegalStateException(Thread.currentThread() + " runs no event loop of this host");
  }

  @Override
  public ServerMethodDefinition<?, ?> lookupMethod(String name, String authority) {
    ServerMethodDefinition<Object, Object> known = definitions.get(name);
    return known == null ? refusal : known;
  }

  /** Starts a call on the thread that read its headers and that also reads other calls. */
  private ServerCall.Listener<Object> start(
      CallMethod method, ServerCall<Object, Object> connection, Metadata headers) {
    if (heap.isFull() && !goesBefore(method, connection)) {
      return turnAway(method, connection);
    }
    Optional<CallInFlight> here = enterHere(method, connection, headers);
    if (here.isPresent()) {
      CallInFlight call = here.get();
      count(call, connection);
      return begin(
          call,
          headers,
          () -> {
            requireOpen(call);
            // Checks again: a change of trust finds the call from now on.
            identity.requireUnrevoked(call.caller());
            method.rule().admit(identity.present(call.caller()));
            return handler(call.provider(), method);
          });
    }
    CallInFlight call = new CallInFlight(connection, method, this);
    if (isMember(connection)) {
      count(call, connection);
      if (preferred.containsKey(method.service())) {
        // The node keeps no request in memory for a call that waits for its service.
        call.readAhead();
      }
      return CallQueue.start(
          threads, () -> begin(call, headers, () -> admit(call, connection, headers)));
    }
    // The node reads no request of a stranger before it has admitted the call.
    return ofStranger(
        call,
        connection,
        () ->
            method.oneRequest()
                ? begin(call, headers, () -> admit(call, connection, headers))
                : beginLate(call, connection, headers));
  }

  /** Counts the bytes that a call of a member takes. */
  private void count(CallInFlight call, ServerCall<Object, Object> connection) {
    ConnectionGate.Pass pass = connection.getAttributes().get(ConnectionGate.Pass.KEY);
    call.counts(requests.begin(pass.caller(), call::giveWay));
  }

  private boolean isMember(ServerCall<?, ?> connection) {
    Optional<X509Certificate> shown =
        identity.member(connection.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION));
    // When the connection was made, the node may not have known its cluster or the revocation list.
    shown.ifPresent(connection.getAttributes().get(ConnectionGate.Pass.KEY)::member);
    return shown.isPresent();
  }

  /** Gives a stranger's call one of the few places, or ends the call. */
  private ServerCall.Listener<Object> ofStranger(
      CallInFlight call,
      ServerCall<Object, Object> connection,
      Supplier<ServerCall.Listener<Object>> start) {
    Attributes attributes = connection.getAttributes();
    try {
      StrangerRoom.Call place =
          attributes
              .get(ConnectionGate.Pass.KEY)
              .begin(
                  attributes.get(Grpc.TRANSPORT_ATTR_SSL_SESSION) == null
                      ? StrangerRoom.Kind.LOCAL
                      : StrangerRoom.Kind.CALL,
                  call::giveWay);
      call.takes(place);
    } catch (RpcException full) {
      call.turnAway(full);
      return new ServerCall.Listener<>() {};
    }
    return CallQueue.start(threads, start);
  }

  /** Admits a call whose handler begins when the first request arrives. */
  private ServerCall.Listener<Object> beginLate(
      CallInFlight call, ServerCall<Object, Object> connection, Metadata headers) {
    try {
      ServerCallHandler<Object, Object> handler = admit(call, connection, headers);
      return new LateHandler(call, () -> begin(call, headers, () -> handler));
    } catch (Throwable failure) {
      call.fail(failure);
      return new ServerCall.Listener<>() {};
    }
  }

  /**
   * Returns whether a call is served on a full heap, too. Without a node's reports the cluster
   * takes the node for dead, and read calls from this machine tell an operator the cause.
   */
  private boolean goesBefore(CallMethod method, ServerCall<Object, Object> connection) {
    SSLSession session = connection.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION);
    return session == null
        ? method.unary()
        : method.rule().selfReport() && identity.member(session).isPresent();
  }

  /** Refuses a call without a thread or a record, since the heap has no room for them. */
  private ServerCall.Listener<Object> turnAway(
      CallMethod method, ServerCall<Object, Object> connection) {
    Status refusal = heap.refusal();
    method.counters().started();
    method.counters().finished(refusal.getCode(), Duration.ZERO);
    connection.close(refusal, new Metadata());
    return new ServerCall.Listener<>() {};
  }

  /** Finds the handler of a call. */
  @FunctionalInterface
  private interface Way {
    ServerCallHandler<Object, Object> handler() throws InterruptedException;
  }

  private static ServerCall.Listener<Object> begin(CallInFlight call, Metadata headers, Way way) {
    try {
      return call.begin(way.handler(), headers);
    } catch (Throwable failure) {
      // An exception here would make gRPC end the connection with all calls on it.
      call.fail(failure);
      return new ServerCall.Listener<>() {};
    }
  }

  private ServerCallHandler<Object, Object> admit(
      CallInFlight call, ServerCall<Object, Object> connection, Metadata headers)
      throws InterruptedException {
    calls.add(call);
    call.identified(identity.identify(connection.getAttributes()));
    // Checks again: a change of trust finds the caller from now on.
    identity.requireUnrevoked(call.caller());
    call.method().rule().admit(identity.present(call.caller()));
    CallTimeout.requireReadable(headers);
    return connect(call);
  }

  /**
   * Returns a call for the calling thread if its handler never waits, is there, and admits the
   * caller.
   */
  private Optional<CallInFlight> enterHere(
      CallMethod method, ServerCall<Object, Object> connection, Metadata headers) {
    if (method.rule().mutating() || !isNonBlocking(method)) {
      return Optional.empty();
    }
    try {
      CallIdentity.Caller caller = identity.identify(connection.getAttributes());
      method.rule().admit(caller);
      CallTimeout.requireReadable(headers);
      return caller.peer() instanceof RpcPeer.Unauthenticated
          ? Optional.empty()
          : enterHere(connection, method, caller);
    } catch (RpcException refused) {
      // The call's own thread will refuse the call again, and that thread may wait for the log.
      return Optional.empty();
    }
  }

  private boolean isNonBlocking(CallMethod method) {
    CallProvider provider = preferred.get(method.service());
    return provider != null && provider.nonBlocking.contains(method.name());
  }

  private Optional<CallInFlight> enterHere(
      ServerCall<Object, Object> connection, CallMethod method, CallIdentity.Caller caller) {
    long stamp = serving.readLock();
    try {
      if (stopped || !isNonBlocking(method)) {
        return Optional.empty();
      }
      CallInFlight call = CallInFlight.here(connection, method, caller, this);
      calls.add(call);
      call.enter(preferred.get(method.service()));
      return Optional.of(call);
    } finally {
      serving.unlockRead(stamp);
    }
  }

  void leave(CallInFlight call) {
    boolean awaited;
    long stamp = serving.readLock();
    try {
      calls.remove(call);
      call.leaveProvider();
      awaited = draining > 0;
    } finally {
      serving.unlockRead(stamp);
    }
    if (awaited) {
      wake();
    }
  }

  /** Finds the handler of a call, and waits for one if the method allows it. */
  private ServerCallHandler<Object, Object> connect(CallInFlight call) throws InterruptedException {
    CallProvider provider = join(call).orElse(null);
    if (provider == null) {
      provider = held(call);
    }
    requireOpen(call);
    return handler(provider, call.method());
  }

  private CallProvider held(CallInFlight call) throws InterruptedException {
    requireHoldable(call);
    try {
      call.method().counters().held();
      Context.current().addListener(gone -> wake(), Runnable::run);
      return awaitProvider(call);
    } finally {
      hold.release();
    }
  }

  /**
   * Fails if the call was ended from outside, so that the call leaves its provider.
   *
   * @throws RpcException if it was; no caller gets this status
   */
  private void requireOpen(CallInFlight call) {
    if (call.isClosed()) {
      throw new RpcException(Status.Code.CANCELLED, "the call was ended before it was served");
    }
  }

  private CallProvider awaitProvider(CallInFlight call) throws InterruptedException {
    lock.lock();
    try {
      long left = limits.holdTime().toNanos();
      while (true) {
        Optional<CallProvider> provider = join(call);
        if (provider.isPresent()) {
          return provider.get();
        }
        if (Context.current().isCancelled() || call.isClosed()) {
          throw new RpcException(
              Status.Code.CANCELLED,
              "the caller went away or was removed, or its deadline passed, while it waited");
        }
        boolean stopping = stopped;
        if (stopping || left <= 0) {
          throw away(
              call.method().service(),
              stopping
                  ? "is gone: this node is stopping"
                  : "has been away for " + limits.holdTime());
        }
        left = changed.awaitNanos(left);
      }
    } finally {
      lock.unlock();
    }
  }

  private void requireHoldable(CallInFlight call) {
    String service = call.method().service();
    // A stranger's waiting call would take a place from a member.
    if (!call.method().unary() || call.caller().peer() instanceof RpcPeer.Unauthenticated) {
      throw away(service, "is away");
    }
    if (!hold.tryAcquire()) {
      throw away(service, "is away, and too many calls wait already");
    }
  }

  private void wake() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Adds the call to the provider that serves its method now. */
  private Optional<CallProvider> join(CallInFlight call) {
    long stamp = serving.readLock();
    try {
      Optional<CallProvider> provider = Optional.ofNullable(preferred.get(call.method().service()));
      provider.ifPresent(call::enter);
      return provider;
    } finally {
      serving.unlockRead(stamp);
    }
  }

  /** Chooses the provider that serves a service from now on. */
  private void choose(String service) {
    providers.stream()
        .filter(provider -> provider.service().equals(service))
        .max(CallProvider.PREFERENCE)
        .ifPresentOrElse(
            provider -> preferred.put(service, provider), () -> preferred.remove(service));
  }

  // The types are the provider's own; see CallMethod.
  @SuppressWarnings("unchecked")
  private ServerCallHandler<Object, Object> handler(CallProvider provider, CallMethod method) {
    ServerMethodDefinition<?, ?> served = provider.definition.getMethod(method.name());
    if (served == null) {
      throw new RpcException(
          Status.Code.UNIMPLEMENTED,
          "method %s was served before, but not by the present version of its service"
              .formatted(method.name()));
    }
    return ((ServerMethodDefinition<Object, Object>) served).getServerCallHandler();
  }

  private RpcException away(String service, String how) {
    return RpcException.unavailable(
        "service %s %s; try again in %d ms".formatted(service, how, limits.retryDelay().toMillis()),
        limits.retryDelay());
  }

  // ---- unknown methods

  private ServerCall.Listener<Object> refuse(
      ServerCall<Object, Object> connection, Metadata headers) {
    CallInFlight call = new CallInFlight(connection, unknown, this);
    RpcException reason = growing() ? unknownYet() : unknown();
    Supplier<ServerCall.Listener<Object>> fail =
        () -> {
          call.fail(reason);
          return new ServerCall.Listener<>() {};
        };
    return isMember(connection)
        ? CallQueue.start(threads, fail)
        : ofStranger(call, connection, fail);
  }

  private RpcException unknown() {
    return new RpcException(
        Status.Code.UNIMPLEMENTED,
        "listener '%s' of this node knows no such method; the node may lack the role that serves it, or it is served on another port"
            .formatted(listener));
  }

  /** Refuses a call that a caller may repeat, since callers take UNIMPLEMENTED as final. */
  private RpcException unknownYet() {
    return RpcException.unavailable(
        "listener '%s' of this node knows no such method yet: services were added less than %d s ago, or none was; try again in %d ms"
            .formatted(listener, limits.holdTime().toSeconds(), limits.retryDelay().toMillis()),
        limits.retryDelay());
  }

  private static MethodDescriptor<byte[], byte[]> unknownMethod() {
    MethodDescriptor.Marshaller<byte[]> nothing =
        new MethodDescriptor.Marshaller<>() {
          @Override
          public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
          }

          @Override
          public byte[] parse(InputStream stream) {
            return new byte[0];
          }
        };
    return MethodDescriptor.newBuilder(nothing, nothing)
        .setType(MethodDescriptor.MethodType.UNKNOWN)
        .setFullMethodName("unknown")
        .build();
  }

  // ---- statistics

  /** Counts the calls that were admitted and have not ended. */
  int open() {
    return calls.size();
  }

  List<String> services() {
    Set<String> names = new TreeSet<>();
    methods.values().forEach(method -> names.add(method.service()));
    return List.copyOf(names);
  }

  List<String> away() {
    return services().stream().filter(name -> !preferred.containsKey(name)).toList();
  }

  List<RpcStatistics.Method> statistics() {
    Map<String, RpcStatistics.Method> all = new TreeMap<>();
    methods
        .values()
        .forEach(
            method -> all.put(method.name(), method.counters().snapshot(listener, method.name())));
    RpcStatistics.Method others = unknown.counters().snapshot(listener, unknown.name());
    if (others.calls() > 0) {
      all.put(unknown.name(), others);
    }
    return List.copyOf(all.values());
  }
}
