package dev.polis.rpc;

import io.grpc.Context;
import io.grpc.HandlerRegistry;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Routes the calls of one listener to the providers of the services. It remembers every service it
 * has seen: a call of a method whose provider is away waits here.
 */
final class CallRouter extends HandlerRegistry {
  private final String listener;
  private final CallIdentity identity;
  private final CallLog log;
  private final CallHold hold;
  private final RpcSettings.Limits limits;

  private final Map<String, CallMethod> methods = new ConcurrentHashMap<>();
  private final Map<String, ServerMethodDefinition<Object, Object>> definitions =
      new ConcurrentHashMap<>();
  private final CallMethod unknown = CallMethod.unknown(unknownMethod());
  private final ServerMethodDefinition<Object, Object> refusal =
      ServerMethodDefinition.create(unknown.descriptor(), this::refuse);

  // Changed under the lock only; who reads it without may see it change at once.
  private final Map<String, CallProvider> preferred = new ConcurrentHashMap<>();

  // Of each thread that reads requests: the call that it has begun and starts next.
  private final ThreadLocal<CallInFlight> begun = new ThreadLocal<>();

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  // Guarded by lock.
  private final List<CallProvider> providers = new ArrayList<>();
  private final Set<CallInFlight> calls = new HashSet<>();
  private long registrations;
  private boolean stopped;

  CallRouter(
      String listener,
      CallIdentity identity,
      CallLog log,
      CallHold hold,
      RpcSettings.Limits limits) {
    this.listener = listener;
    this.identity = identity;
    this.log = log;
    this.hold = hold;
    this.limits = limits;
  }

  CallLog log() {
    return log;
  }

  // ---- who serves

  CallProvider add(ServerServiceDefinition service, Set<String> nonBlocking, int ranking) {
    service.getMethods().forEach(method -> remember(method.getMethodDescriptor()));
    lock.lock();
    try {
      CallProvider provider = new CallProvider(service, nonBlocking, ranking, registrations++);
      providers.add(provider);
      choose(provider.service());
      changed.signalAll();
      return provider;
    } finally {
      lock.unlock();
    }
  }

  private void remember(MethodDescriptor<?, ?> descriptor) {
    CallMethod method =
        methods.computeIfAbsent(descriptor.getFullMethodName(), name -> CallMethod.of(descriptor));
    definitions.computeIfAbsent(
        method.name(),
        name ->
            ServerMethodDefinition.create(
                method.descriptor(), (call, headers) -> start(method, call, headers)));
  }

  /**
   * Removes a provider: no new call reaches it, its streams end, its unary calls may finish within
   * the drain time. A call whose own handler asks for this is not waited for.
   */
  void remove(CallProvider provider) {
    List<CallInFlight> streams;
    lock.lock();
    try {
      if (!providers.remove(provider)) {
        return;
      }
      choose(provider.service());
      provider.calls.forEach(call -> call.method().counters().drained());
      streams =
          provider.calls.stream()
              .filter(call -> !call.method().unary() && !call.runsHere())
              .toList();
    } finally {
      lock.unlock();
    }
    RpcException moved = away(provider.service(), "is being replaced or stopped");
    streams.forEach(call -> call.abandon(moved));
    drain(provider, limits.drainTime()).forEach(call -> call.abandon(moved));
  }

  /** Waits for a provider's calls to end and returns those that took too long. */
  private List<CallInFlight> drain(CallProvider provider, Duration time) {
    lock.lock();
    try {
      long left = time.toNanos();
      while (left > 0 && provider.calls.stream().anyMatch(call -> !call.runsHere())) {
        left = changed.awaitNanos(left);
      }
    } catch (InterruptedException e) {
      // Whoever stops the provider is in a hurry; its calls are ended below, and the hurry is
      // passed on.
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
    }
    lock.lock();
    try {
      return provider.calls.stream().filter(call -> !call.runsHere()).toList();
    } finally {
      lock.unlock();
    }
  }

  /** Ends all calls and refuses new ones. */
  void stop() {
    List<CallInFlight> all;
    lock.lock();
    try {
      stopped = true;
      changed.signalAll();
      all = List.copyOf(calls);
    } finally {
      lock.unlock();
    }
    all.forEach(
        call ->
            call.abandon(RpcException.unavailable("this node is stopping", limits.retryDelay())));
  }

  /** Cancels the calls of users and nodes that were removed from the cluster. */
  void expel() {
    List<CallInFlight> all;
    lock.lock();
    try {
      all = List.copyOf(calls);
    } finally {
      lock.unlock();
    }
    all.stream()
        .filter(call -> identity.revoked(call.caller()))
        .forEach(
            call ->
                call.abandon(
                    RpcException.unauthenticated(
                        "the certificate of %s was revoked; it no longer belongs to this cluster"
                            .formatted(call.caller().peer().describe()))));
  }

  // ---- who calls

  @Override
  public ServerMethodDefinition<?, ?> lookupMethod(String name, String authority) {
    ServerMethodDefinition<Object, Object> known = definitions.get(name);
    return known == null ? refusal : known;
  }

  /**
   * Begins a call on the calling thread, which goes on with {@link #start}, if nothing on the way
   * to the answer waits: the handler says so, is there, and may be asked by this caller.
   */
  boolean beginHere(ServerCall<?, ?> connection, Metadata headers) {
    CallMethod method = methods.get(connection.getMethodDescriptor().getFullMethodName());
    if (method == null || method.rule().mutating() || !isNonBlocking(method)) {
      return false;
    }
    try {
      CallIdentity.Caller caller = identity.identify(connection.getAttributes());
      method.rule().admit(caller);
      CallTimeout.requireReadable(headers);
      return enterHere(connection, method, caller);
    } catch (RpcException refused) {
      // The call's own thread will find the same, and may wait there until it is logged.
      return false;
    }
  }

  private boolean isNonBlocking(CallMethod method) {
    CallProvider provider = preferred.get(method.service());
    return provider != null && provider.nonBlocking.contains(method.name());
  }

  // The types of requests and responses are the handler's; see CallMethod.
  @SuppressWarnings("unchecked")
  private boolean enterHere(
      ServerCall<?, ?> connection, CallMethod method, CallIdentity.Caller caller) {
    lock.lock();
    try {
      if (stopped || !isNonBlocking(method)) {
        return false;
      }
      CallInFlight call =
          CallInFlight.here((ServerCall<Object, Object>) connection, method, caller, this);
      calls.add(call);
      call.enter(preferred.get(method.service()));
      begun.set(call);
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Returns the call of a connection that this thread has begun, if it is one. */
  private Optional<CallInFlight> begunHere(ServerCall<Object, Object> connection) {
    if (Thread.currentThread().isVirtual()) {
      return Optional.empty();
    }
    CallInFlight call = begun.get();
    begun.remove();
    return Optional.ofNullable(call).filter(each -> each.isOf(connection));
  }

  private ServerCall.Listener<Object> start(
      CallMethod method, ServerCall<Object, Object> connection, Metadata headers) {
    Optional<CallInFlight> here = begunHere(connection);
    CallInFlight call = here.orElseGet(() -> new CallInFlight(connection, method, this));
    try {
      if (here.isPresent()) {
        return call.begin(handler(call.provider(), method), headers);
      }
      enter(call);
      call.identified(identity.identify(connection.getAttributes()));
      method.rule().admit(call.caller());
      CallTimeout.requireReadable(headers);
      return call.begin(connect(call), headers);
    } catch (Throwable failure) {
      // Nothing may get from here into gRPC, which would end the connection with everybody's calls
      // on it.
      call.fail(failure);
      return new ServerCall.Listener<>() {};
    }
  }

  private void enter(CallInFlight call) {
    lock.lock();
    try {
      calls.add(call);
    } finally {
      lock.unlock();
    }
  }

  void leave(CallInFlight call) {
    lock.lock();
    try {
      calls.remove(call);
      call.leaveProvider();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Finds the handler of a call, and waits for one if the method allows it. */
  private ServerCallHandler<Object, Object> connect(CallInFlight call) throws InterruptedException {
    lock.lock();
    boolean waits = false;
    try {
      long left = limits.holdTime().toNanos();
      while (true) {
        Optional<CallProvider> provider = provider(call.method());
        if (provider.isPresent()) {
          call.enter(provider.get());
          return handler(provider.get(), call.method());
        }
        if (!waits) {
          requireHoldable(call.method());
          waits = true;
          call.method().counters().held();
          Context.current().addListener(gone -> wake(), Runnable::run);
        }
        if (Context.current().isCancelled()) {
          throw new RpcException(
              Status.Code.CANCELLED,
              "the caller went away, or its deadline passed, while it waited");
        }
        if (stopped || left <= 0) {
          throw away(
              call.method().service(),
              stopped
                  ? "is gone: this node is stopping"
                  : "has been away for " + limits.holdTime());
        }
        left = changed.awaitNanos(left);
      }
    } finally {
      lock.unlock();
      if (waits) {
        hold.giveBack();
      }
    }
  }

  private void requireHoldable(CallMethod method) {
    if (!method.unary()) {
      throw away(method.service(), "is away");
    }
    if (!hold.take()) {
      throw away(method.service(), "is away, and too many calls wait already");
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

  private Optional<CallProvider> provider(CallMethod method) {
    return Optional.ofNullable(preferred.get(method.service()));
  }

  /** Chooses the provider that serves a service from now on. */
  private void choose(String service) {
    providers.stream()
        .filter(provider -> provider.service().equals(service))
        .max(CallProvider.PREFERENCE)
        .ifPresentOrElse(
            provider -> preferred.put(service, provider), () -> preferred.remove(service));
  }

  // The provider's own types; see CallMethod.
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

  // ---- what nobody knows

  private ServerCall.Listener<Object> refuse(
      ServerCall<Object, Object> connection, Metadata headers) {
    CallInFlight call = new CallInFlight(connection, unknown, this);
    call.fail(
        new RpcException(
            Status.Code.UNIMPLEMENTED,
            "listener '%s' of this node knows no such method; the node may lack the role that serves it, or it is served on another port"
                .formatted(listener)));
    return new ServerCall.Listener<>() {};
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

  // ---- who looks

  List<String> services() {
    Set<String> names = new TreeSet<>();
    methods.values().forEach(method -> names.add(method.service()));
    return List.copyOf(names);
  }

  List<String> away() {
    lock.lock();
    try {
      List<String> present = providers.stream().map(CallProvider::service).toList();
      return services().stream().filter(name -> !present.contains(name)).toList();
    } finally {
      lock.unlock();
    }
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
