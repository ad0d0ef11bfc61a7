package dev.polis.rpc.resolver;

import dev.polis.base.backoff.Backoff;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.rpc.BlockingStreams;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.supervision.Context;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Connects this node to the leader of its cluster's curator, whichever node leads. Thread-safe; its
 * creator closes it.
 */
public final class LeaderConnection implements AutoCloseable {

  /** A call that reports a state and has no answer for this long is made again. */
  public static final Duration REPORT = Duration.ofSeconds(10);

  /** Calls in flight get this long to end when the connection is closed. */
  private static final long GRACE_SECONDS = 2;

  // An election without contention takes about this long.
  private static final Duration FIRST_PAUSE = Duration.ofMillis(250);

  // Long enough to be no load on a cluster that comes back, short enough for a person.
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

  /** Sends a state to the leader. */
  @FunctionalInterface
  public interface Report<T> {
    /** Makes the call, within {@link LeaderConnection#REPORT}. */
    void send(Channel leader, T state) throws StatusException;
  }

  private final Supplier<NodeCredentials> newest;
  private final NodeId self;
  private final LeaderResolver resolver;
  private final ManagedChannel channel;

  /**
   * Begins to look for the leader.
   *
   * @param newest this node's credentials, asked for at each new connection
   * @param seed the address of a curator listener
   * @param log receives how the leader is found
   */
  public LeaderConnection(Supplier<NodeCredentials> newest, InetSocketAddress seed, Log log) {
    NodeCredentials first = newest.get();
    this.newest = newest;
    this.self = first.id();
    RpcClients clients =
        RpcClients.authenticated(() -> newest.get().tls(), RpcTrust.cluster(first.ca()));
    this.resolver = LeaderResolver.open(List.of(seed), clients, log);
    this.channel = resolver.channel();
  }

  /** Returns this node's id. */
  public NodeId self() {
    return self;
  }

  /** Returns new pauses between attempts to reach the leader. */
  public Backoff backoff() {
    return new Backoff(FIRST_PAUSE, LONGEST_PAUSE);
  }

  /** Returns the channel to the leader. It ends with this connection. */
  public Channel channel() {
    return channel;
  }

  /** Opens a channel to one node, which accepts no other peer. The caller shuts it down. */
  public ManagedChannel dial(NodeId node, InetSocketAddress address) {
    return RpcClients.authenticated(
            () -> newest.get().tls(), RpcTrust.node(newest.get().ca(), node))
        .dial(address);
  }

  /**
   * Reads a stream of the leader until it is interrupted; one that ends is opened again after a
   * pause.
   *
   * @param what the stream, for the log
   * @param open opens the stream
   * @param reader is asked for at each stream, and takes its messages
   */
  public <T> void follow(
      Context context,
      String what,
      Function<Channel, BlockingClientCall<?, T>> open,
      Supplier<Consumer<T>> reader)
      throws InterruptedException {
    context.healthy();
    Backoff backoff = backoff();
    while (true) {
      BlockingClientCall<?, T> call = open.apply(channel);
      Consumer<T> messages = reader.get();
      try {
        for (T next = call.read(); next != null; next = call.read()) {
          backoff.reset();
          messages.accept(next);
        }
      } catch (StatusException e) {
        context.log().warning("%s ended: %s", what, e.getMessage());
      } finally {
        BlockingStreams.end(call, "this watch is over");
      }
      backoff.pause();
    }
  }

  /**
   * Reports each new state to the leader until it is interrupted. A report that fails is repeated
   * after a pause, with the newest state.
   *
   * @param what the state, for the log
   * @param states what to report
   * @param known what the leader knows at first, and is not reported
   */
  public <T> void push(Context context, String what, Value<T> states, T known, Report<T> report)
      throws InterruptedException {
    context.healthy();
    Backoff backoff = backoff();
    try (Watcher<T> changes = states.watch()) {
      T pushed = known;
      while (true) {
        T before = pushed;
        pushed = changes.get(state -> !state.equals(before));
        while (!sent(context, what, pushed, report)) {
          backoff.pause();
          pushed = changes.poll().orElse(pushed);
        }
        backoff.reset();
      }
    }
  }

  private <T> boolean sent(Context context, String what, T state, Report<T> report) {
    try {
      report.send(channel, state);
      return true;
    } catch (StatusException e) {
      context.log().warning("%s could not be reported: %s", what, e.getMessage());
      return false;
    }
  }

  /** Ends the calls in flight, for which it waits a moment, and the search for the leader. */
  @Override
  public void close() {
    channel.shutdownNow();
    try {
      channel.awaitTermination(GRACE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    resolver.close();
  }
}
