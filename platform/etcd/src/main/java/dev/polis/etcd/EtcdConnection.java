package dev.polis.etcd;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.ByteString;
import dev.polis.base.backoff.Backoff;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.RangeRequest;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientStreamTracer;
import io.grpc.ConnectivityState;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Connects a client and all its namespaces with the members of etcd: it selects a member, repeats
 * unary calls where this is safe, and runs timers. Closed once, by the client that made it.
 */
final class EtcdConnection implements AutoCloseable {

  /** Decides whether a call with an unknown outcome may be sent again. */
  enum Effect {
    REPEATABLE,
    ONCE
  }

  /** The default deadline, longer than an etcd election with the default timeouts (about 2 s). */
  static final Duration DEFAULT_DEADLINE = Duration.ofSeconds(8);

  // If there are other members, one silent member must not use up the deadline.
  private static final Duration ATTEMPT = Duration.ofMillis(2500);
  private static final Duration RETRY_FIRST = Duration.ofMillis(20);
  private static final Duration RETRY_MOST = Duration.ofMillis(500);
  private static final Duration DRAIN = DEFAULT_DEADLINE.plusSeconds(2);

  private final EtcdChannels channels;
  private final EtcdHold hold;
  private final LeaseClocks clocks;
  private final ScheduledThreadPoolExecutor timer;
  private final ExecutorService workers = Executors.newVirtualThreadPerTaskExecutor();
  private final List<Consumer<EtcdChannels.Member>> abandonListeners = new CopyOnWriteArrayList<>();
  private final WatchStreams watches;
  private final LeaseKeeper leases;

  private volatile List<EtcdChannels.Member> members;
  private volatile EtcdChannels.Member preferred;
  private volatile boolean closed;

  EtcdConnection(EtcdAccess access, LeaseClocks clocks) {
    this.clocks = clocks;
    this.timer = newTimer();
    this.channels = new EtcdChannels(access);
    this.hold = access.hold();
    this.members = access.endpoints().stream().map(channels::open).toList();
    this.preferred = members.getFirst();
    this.watches = new WatchStreams(this);
    this.leases = new LeaseKeeper(this);
  }

  private static ScheduledThreadPoolExecutor newTimer() {
    ScheduledThreadPoolExecutor timer =
        new ScheduledThreadPoolExecutor(
            1, Thread.ofPlatform().daemon().name("polis-etcd-timer").factory());
    timer.setRemoveOnCancelPolicy(true);
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    return timer;
  }

  WatchStreams watches() {
    return watches;
  }

  LeaseKeeper leases() {
    return leases;
  }

  LeaseClocks clocks() {
    return clocks;
  }

  long nanos() {
    return clocks.nanos().getAsLong();
  }

  boolean isClosed() {
    return closed;
  }

  EtcdClosedException closedException() {
    return new EtcdClosedException(
        "the etcd client of " + members + " is closed; its owner must open a new one", null);
  }

  /** Runs a short, non-blocking task later, unless the connection is closed first. */
  Future<?> later(long delayNanos, Runnable task) {
    try {
      return timer.schedule(task, Math.max(0, delayNanos), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException stopped) {
      return CompletableFuture.completedFuture(null);
    }
  }

  /** Runs a task that may block on a virtual thread, interrupted when the connection closes. */
  void work(Runnable task) {
    try {
      workers.execute(task);
    } catch (RejectedExecutionException stopped) {
      if (!closed) {
        throw stopped;
      }
    }
  }

  /** Returns the member to use for the next call or stream. */
  EtcdChannels.Member member() {
    EtcdChannels.Member next = preferred;
    if (next.channel().getState(false) != ConnectivityState.READY) {
      // This class makes the pauses itself, since grpc's own grow to two minutes.
      next.channel().resetConnectBackoff();
    }
    return next;
  }

  List<EtcdChannels.Member> members() {
    return members;
  }

  /** Switches to the next member if {@code failed} is still in use. */
  void suspect(EtcdChannels.Member failed) {
    synchronized (this) {
      if (preferred != failed || closed) {
        return;
      }
      List<EtcdChannels.Member> all = members;
      preferred = all.get((all.indexOf(failed) + 1) % all.size());
    }
  }

  /** Registers a listener for members that must not be used any longer. */
  void onAbandon(Consumer<EtcdChannels.Member> listener) {
    abandonListeners.add(listener);
  }

  /** Leaves a silent member with all streams. */
  void abandon(EtcdChannels.Member silent) {
    suspect(silent);
    if (preferred != silent) {
      abandonListeners.forEach(listener -> listener.accept(silent));
    }
  }

  /** Replaces the set of endpoints; running calls on a removed one may finish. */
  void moveTo(List<EtcdEndpoint> endpoints) {
    if (endpoints.isEmpty()) {
      throw new IllegalArgumentException("an etcd client needs at least one endpoint");
    }
    List<EtcdChannels.Member> dropped;
    synchronized (this) {
      if (closed) {
        throw closedException();
      }
      List<EtcdChannels.Member> before = members;
      List<EtcdChannels.Member> after = new ArrayList<>();
      for (EtcdEndpoint endpoint : endpoints) {
        after.add(
            before.stream()
                .filter(member -> member.endpoint().equals(endpoint))
                .findFirst()
                .orElseGet(() -> channels.open(endpoint)));
      }
      dropped = before.stream().filter(member -> !after.contains(member)).toList();
      members = List.copyOf(after);
      if (!after.contains(preferred)) {
        preferred = after.getFirst();
      }
    }
    for (EtcdChannels.Member member : dropped) {
      member.channel().shutdown();
      abandonListeners.forEach(listener -> listener.accept(member));
      later(DRAIN.toNanos(), member.channel()::shutdownNow);
    }
  }

  /**
   * Makes a unary call with retries.
   *
   * @param what names the action and its object, such as {@code "put /nodes/x"}; called only after
   *     a failure
   */
  <Q, R> R call(
      MethodDescriptor<Q, R> method,
      Q request,
      Effect effect,
      Supplier<String> what,
      Duration within)
      throws InterruptedException {
    long deadline = System.nanoTime() + within.toNanos();
    if (effect == Effect.REPEATABLE) {
      return attempts(method, request, effect, what, within, deadline);
    }
    if (!hold.enter(deadline)) {
      throw closed
          ? closedException()
          : new EtcdUnavailableException(
              "etcd at %s: %s was not sent within %d ms, because the member starts again; check why it takes so long: polisctl health"
                  .formatted(member(), what.get(), within.toMillis()),
              null);
    }
    try {
      return attempts(method, request, effect, what, within, deadline);
    } finally {
      hold.leave();
    }
  }

  private <Q, R> R attempts(
      MethodDescriptor<Q, R> method,
      Q request,
      Effect effect,
      Supplier<String> what,
      Duration within,
      long deadline)
      throws InterruptedException {
    Backoff backoff = new Backoff(RETRY_FIRST, RETRY_MOST);
    Optional<StatusRuntimeException> lastFailure = Optional.empty();
    for (int attempt = 1; ; attempt++) {
      if (closed) {
        throw closedException();
      }
      EtcdChannels.Member member = member();
      SentTracer sent = new SentTracer();
      long left = deadline - System.nanoTime();
      boolean patient = effect == Effect.ONCE || members.size() == 1;
      long budget = patient ? left : Math.min(left, ATTEMPT.toNanos());
      try {
        return once(member.leading(), method, request, sent, Math.max(budget, 1));
      } catch (StatusRuntimeException failure) {
        Status status = failure.getStatus();
        EtcdFailure verdict = EtcdFailure.of(status, sent.sent());
        if (verdict.isFinal() || (verdict == EtcdFailure.UNKNOWN && effect == Effect.ONCE)) {
          noteSilence(member, status, budget);
          throw closed
              ? closedException()
              : verdict.exception(what.get(), member.endpoint(), status, failure);
        }
        noteSilence(member, status, budget);
        suspect(member);
        if (status.getCode() != Status.Code.DEADLINE_EXCEEDED || lastFailure.isEmpty()) {
          lastFailure = Optional.of(failure);
        }
        // The first pass tries all members without a pause; later attempts wait.
        long pause = attempt < members.size() ? 0 : backoff.next().toNanos();
        if (deadline - System.nanoTime() <= pause) {
          String tried =
              what.get() + " within " + within.toMillis() + " ms, " + attempt + " attempts";
          throw closed
              ? closedException()
              : EtcdFailure.UNAVAILABLE.exception(
                  tried, member.endpoint(), lastFailure.get().getStatus(), lastFailure.get());
        }
        Thread.sleep(Duration.ofNanos(pause));
      }
    }
  }

  /**
   * Leaves a member that was silent for longer than a call may take; a shorter silence has no
   * effect.
   */
  private void noteSilence(EtcdChannels.Member member, Status status, long patience) {
    if (status.getCode() == Status.Code.DEADLINE_EXCEEDED && patience >= ATTEMPT.toNanos()) {
      abandon(member);
    }
  }

  /**
   * Makes one attempt at one member.
   *
   * @throws EtcdClosedException if the connection closes meanwhile
   */
  <Q, R> R once(
      Channel channel, MethodDescriptor<Q, R> method, Q request, SentTracer sent, long nanos)
      throws InterruptedException {
    CallOptions options =
        CallOptions.DEFAULT
            .withDeadlineAfter(nanos, TimeUnit.NANOSECONDS)
            .withStreamTracerFactory(sent);
    try {
      return answer(ClientCalls.futureUnaryCall(channel.newCall(method, options), request));
    } catch (RejectedExecutionException stopped) {
      throw closedException();
    }
  }

  private static <R> R answer(ListenableFuture<R> answer) throws InterruptedException {
    try {
      return answer.get();
    } catch (InterruptedException interrupted) {
      answer.cancel(true);
      throw interrupted;
    } catch (ExecutionException failed) {
      throw Status.fromThrowable(failed.getCause()).asRuntimeException();
    }
  }

  /** Sends a member a request, and returns whether it answered; a refusal counts as an answer. */
  boolean answers(EtcdChannels.Member member, Duration within) throws InterruptedException {
    try {
      once(
          member.channel(),
          KVGrpc.getRangeMethod(),
          RangeRequest.newBuilder()
              .setKey(ByteString.copyFromUtf8("namespaced:"))
              .setSerializable(true)
              .setCountOnly(true)
              .build(),
          new SentTracer(),
          within.toNanos());
      return true;
    } catch (StatusRuntimeException failure) {
      Status.Code code = failure.getStatus().getCode();
      return code != Status.Code.DEADLINE_EXCEEDED && code != Status.Code.UNAVAILABLE;
    }
  }

  @Override
  public void close() {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
    }
    watches.close();
    leases.close();
    timer.shutdownNow();
    workers.shutdownNow();
    channels.close();
  }

  /**
   * Records whether a request reached a transport; if not, it had no effect. gRPC makes a further
   * stream for a call only if the server certainly did not take the one before, so each stream
   * begins as one that was not sent.
   */
  static final class SentTracer extends ClientStreamTracer.Factory {

    private volatile boolean sent;

    boolean sent() {
      return sent;
    }

    @Override
    public ClientStreamTracer newClientStreamTracer(
        ClientStreamTracer.StreamInfo info, Metadata headers) {
      sent = false;
      return new ClientStreamTracer() {
        @Override
        public void outboundMessage(int sequence) {
          sent = true;
        }
      };
    }
  }
}
