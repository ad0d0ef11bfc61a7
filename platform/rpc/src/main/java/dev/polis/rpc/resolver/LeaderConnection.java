package dev.polis.rpc.resolver;

import dev.polis.base.backoff.Backoff;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.rpc.BlockingStreams;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.supervision.Context;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.Node;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Connects this node to the leader of its cluster's curator, whichever node leads. Thread-safe; its
 * creator closes it, after the calls that it made.
 *
 * <p>All connections of a node share one channel, which ends with the last of them.
 */
public final class LeaderConnection implements AutoCloseable {

  /** The time after which an unanswered report to the leader is repeated. */
  public static final Duration REPORT = Duration.ofSeconds(10);

  // About the time of an election without contention.
  private static final Duration FIRST_PAUSE = Duration.ofMillis(250);

  // Long enough to spare a restarting cluster, short enough for a person.
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

  /** Sends a state to the leader. */
  @FunctionalInterface
  public interface Report<T> {
    /** Makes the call, within {@link LeaderConnection#REPORT}. */
    void send(Channel leader, T state) throws StatusException;
  }

  private final Supplier<NodeCredentials> newest;
  private final NodeId self;
  private final SharedLeader leader;

  /**
   * Starts the search for the leader at this node's own curator.
   *
   * @param newest returns this node's newest credentials, for each new connection
   * @param own the address of this node's own curator listener
   * @param log receives the progress of the search
   */
  public LeaderConnection(Supplier<NodeCredentials> newest, InetSocketAddress own, Log log) {
    this(newest, Set.of(new NodeEndpoint(newest.get().id(), own)), log);
  }

  /**
   * Begins to look for the leader, from several curators.
   *
   * @param newest this node's credentials, asked for at each new connection
   * @param seeds the curators that it asks first, at least one
   * @param log receives how the leader is found
   */
  public LeaderConnection(Supplier<NodeCredentials> newest, Set<NodeEndpoint> seeds, Log log) {
    this.newest = newest;
    this.self = newest.get().id();
    this.leader = SharedLeader.join(this, Set.copyOf(seeds), log);
  }

  /** Returns the newest credentials of this node. */
  NodeCredentials credentials() {
    return newest.get();
  }

  /** Returns this node's id. */
  public NodeId self() {
    return self;
  }

  /** Returns new pauses between attempts to reach the leader. */
  public Backoff backoff() {
    return new Backoff(FIRST_PAUSE, LONGEST_PAUSE);
  }

  /** Returns the channel to the leader. It may end with this connection. */
  public Channel channel() {
    return leader.channel();
  }

  /**
   * Returns the endpoints of all curators that can lead, as the leader lists them; the value is
   * empty before the first list.
   */
  public Value<Set<NodeEndpoint>> curators() {
    return leader.curators();
  }

  /** Opens a channel to one node, which accepts no other peer. The caller shuts it down. */
  public ManagedChannel dial(NodeId node, InetSocketAddress address) {
    return RpcClients.authenticated(
            () -> newest.get().tls(), RpcTrust.cluster(() -> newest.get().ca()))
        .dial(new NodeEndpoint(node, address));
  }

  /**
   * Reads a stream of the leader until it is interrupted, and opens an ended stream again after a
   * pause.
   *
   * @param what the stream, for the log
   * @param open opens the stream
   * @param reader returns a reader for each stream, which receives its messages
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
      BlockingClientCall<?, T> call = open.apply(channel());
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
   * Follows the nodes of the cluster at the leader until it is interrupted.
   *
   * @param what the name of the watch, for the log
   * @param kept returns what is kept of a node; a node without it is left out
   * @param reader receives what is kept, by the ids of the nodes, at each change
   */
  public <T> void followNodes(
      Context context,
      String what,
      Function<Node, Optional<T>> kept,
      Consumer<Map<String, T>> reader)
      throws InterruptedException {
    follow(
        context,
        what,
        leader ->
            CuratorGrpc.newBlockingV2Stub(leader).withWaitForReady().watch(ListedNodes.REQUEST),
        () -> {
          ListedNodes<T> listed = new ListedNodes<>(kept);
          return event -> listed.accept(event).ifPresent(reader);
        });
  }

  /**
   * Reports each new state to the leader until it is interrupted, and repeats a failed report after
   * a pause, with the newest state.
   *
   * @param what the name of the state, for the log
   * @param states the states to report
   * @param known the state that the leader knows at first, which is not reported
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
      report.send(channel(), state);
      return true;
    } catch (StatusException e) {
      context.log().warning("%s could not be reported: %s", what, e.getMessage());
      return false;
    }
  }

  /** Closes the channel with its running calls, unless another connection uses it. */
  @Override
  public void close() {
    leader.leave(this);
  }
}
