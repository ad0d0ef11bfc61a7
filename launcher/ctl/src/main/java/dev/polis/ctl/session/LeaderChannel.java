package dev.polis.ctl.session;

import dev.polis.pki.NodeEndpoint;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.ClientInterceptors.CheckedForwardingClientCall;
import io.grpc.ConnectivityState;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusException;
import io.netty.channel.ConnectTimeoutException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** Sends each call to the node that the operator named, or to the leader that this node names. */
final class LeaderChannel extends Channel {

  /**
   * The time for a connection to a leader that another node names: a silent one has a successor
   * within ten seconds, whom the named node knows.
   */
  static final Duration CONNECT = Duration.ofSeconds(3);

  private static final Set<ConnectivityState> SETTLED =
      EnumSet.of(
          ConnectivityState.READY, ConnectivityState.TRANSIENT_FAILURE, ConnectivityState.SHUTDOWN);

  private final Channel named;
  private final LeaderRoute route;
  private final Function<NodeEndpoint, Channel> dial;
  private final Map<NodeEndpoint, Channel> leaders = new ConcurrentHashMap<>();

  /**
   * Creates a channel that begins at the named node.
   *
   * @param named the channel to the named node
   * @param route knows the leader
   * @param dial opens a channel to a leader, which accepts no other node
   */
  LeaderChannel(Channel named, LeaderRoute route, Function<NodeEndpoint, Channel> dial) {
    this.named = named;
    this.route = route;
    this.dial = dial;
  }

  @Override
  public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
    return present().newCall(method, options);
  }

  @Override
  public String authority() {
    return present().authority();
  }

  private Channel present() {
    return route.leader().map(leader -> leaders.computeIfAbsent(leader, dial)).orElse(named);
  }

  /**
   * Bounds the time in which a channel connects.
   *
   * @param connection the connection of the channel
   * @param channel the same, with the interceptors of its session
   */
  static Channel connecting(ManagedChannel connection, Channel channel) {
    return ClientInterceptors.intercept(
        channel,
        new ClientInterceptor() {
          @Override
          public <Q, A> ClientCall<Q, A> interceptCall(
              MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
            ClientCall<Q, A> call = next.newCall(method, options);
            return isSilent(connection) ? failed(call) : call;
          }
        });
  }

  private static boolean isSilent(ManagedChannel connection) {
    long end = System.nanoTime() + CONNECT.toNanos();
    try {
      ConnectivityState state = connection.getState(true);
      while (!SETTLED.contains(state) && !Context.current().isCancelled()) {
        if (!changes(connection, state, end - System.nanoTime())) {
          return true;
        }
        state = connection.getState(true);
      }
    } catch (InterruptedException hurried) {
      // The call ends for the same reason.
      Thread.currentThread().interrupt();
    }
    return false;
  }

  /** Waits until the state changes or the command's interest ends; false if the time is over. */
  private static boolean changes(ManagedChannel connection, ConnectivityState state, long nanos)
      throws InterruptedException {
    CountDownLatch changed = new CountDownLatch(1);
    Context context = Context.current();
    Context.CancellationListener over = _ -> changed.countDown();
    context.addListener(over, Runnable::run);
    try {
      connection.notifyWhenStateChanged(state, changed::countDown);
      return changed.await(nanos, TimeUnit.NANOSECONDS);
    } finally {
      context.removeListener(over);
    }
  }

  private static <Q, A> ClientCall<Q, A> failed(ClientCall<Q, A> call) {
    return new CheckedForwardingClientCall<>(call) {
      @Override
      protected void checkedStart(Listener<A> listener, Metadata headers) throws StatusException {
        throw new StatusException(
            Status.UNAVAILABLE.withCause(
                new ConnectTimeoutException("no connection within " + CONNECT)));
      }
    };
  }
}
