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
 * Talks to the members of etcd for a client and all its namespaces: chooses among them, repeats
 * unary calls where that is safe, runs timers. Closed once, by the client that made it.
 */
final class EtcdConnection implements AutoCloseable {

  /** Says whether a call may be sent again when its outcome is not known. */
  enum Effect {
    REPEATABLE,
    ONCE
  }

  /** Covers one etcd election with the default timeouts (about 2 s) and then some. */
  static final Duration DEFAULT_DEADLINE = Duration.ofSeconds(8);

  // With another member to ask, no single one may use up the deadline by not answering.
  private static final Duration ATTEMPT = Duration.ofMillis(2500);
  private static final Duration RETRY_FIRST = Duration.ofMillis(20);
  private static final Duration RETRY_MOST = Duration.ofMillis(500);
  private static final Duration DRAIN = DEFAULT_DEADLINE.plusSeconds(2);

  private final EtcdChannels channels;
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
      // Pauses between attempts are ours to make: grpc's own grow to two minutes.
      next.channel().resetConnectBackoff();
    }
    return next;
  }

  List<EtcdChannels.Member> members() {
    return members;
  }

  /** Makes the next member the one to use, if {@code failed} is it now. */
  void suspect(EtcdChannels.Member failed) {
    synchronized (this) {
      if (preferred != failed || closed) {
        return;
      }
      List<EtcdChannels.Member> all = members;
      preferred = all.get((all.indexOf(failed) + 1) % all.size());
    }
  }

  /** Registers a listener that is called with each member that must not be used any more. */
  void onAbandon(Consumer<EtcdChannels.Member> listener) {
    abandonListeners.add(listener);
  }

  /** Leaves a member that does not answer calls, with all streams. */
  void abandon(EtcdChannels.Member silent) {
    suspect(silent);
    if (preferred != silent) {
      abandonListeners.forEach(listener -> listener.accept(silent));
    }
  }

  /** Replaces the set of endpoints; calls under way on a dropped one may finish. */
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
   * @param what says the action and its object, such as {@code "put /nodes/x"}; only asked after a
   *     failure
   */
  <Q, R> R call(
      MethodDescriptor<Q, R> method,
      Q request,
      Effect effect,
      Supplier<String> what,
      Duration within)
      throws InterruptedException {
    long deadline = System.nanoTime() + within.toNanos();
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
        // The first pass goes through all members without a pause; then waiting is what helps.
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
   * Leaves a member that was silent for longer than a call may take; shorter silence means nothing.
   */
  private void noteSilence(EtcdChannels.Member member, Status status, long patience) {
    if (status.getCode() == Status.Code.DEADLINE_EXCEEDED && patience >= ATTEMPT.toNanos()) {
      abandon(member);
    }
  }

  /** Makes one attempt at one member. */
  static <Q, R> R once(
      Channel channel, MethodDescriptor<Q, R> method, Q request, SentTracer sent, long nanos)
      throws InterruptedException {
    CallOptions options =
        CallOptions.DEFAULT
            .withDeadlineAfter(nanos, TimeUnit.NANOSECONDS)
            .withStreamTracerFactory(sent);
    ListenableFuture<R> answer =
        ClientCalls.futureUnaryCall(channel.newCall(method, options), request);
    try {
      return answer.get();
    } catch (InterruptedException interrupted) {
      answer.cancel(true);
      throw interrupted;
    } catch (ExecutionException failed) {
      throw Status.fromThrowable(failed.getCause()).asRuntimeException();
    }
  }

  /** Asks a member for anything, and returns whether it answered at all; a refusal is an answer. */
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

  /** Records whether a request reached a transport: if not, it cannot have had an effect. */
  static final class SentTracer extends ClientStreamTracer.Factory {

    private volatile boolean sent;

    boolean sent() {
      return sent;
    }

    @Override
    public ClientStreamTracer newClientStreamTracer(
        ClientStreamTracer.StreamInfo info, Metadata headers) {
      return new ClientStreamTracer() {
        @Override
        public void outboundMessage(int sequence) {
          sent = true;
        }
      };
    }
  }
}
