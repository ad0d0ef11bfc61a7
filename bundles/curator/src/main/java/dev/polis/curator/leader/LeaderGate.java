package dev.polis.curator.leader;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.base.values.Values;
import dev.polis.base.values.Watcher;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.rpc.HostPort;
import dev.polis.rpc.RpcException;
import dev.polis.supervision.Context;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/**
 * Gives calls the present leadership of this node. While another node leads, it refuses them at
 * once and names the leader; while no leader is known, it lets them wait for the next one.
 * Thread-safe.
 *
 * <p>Why a follower does not wait in case it wins the next election: a leader that ends takes its
 * callers along, so they come back after they have found no leader at the named address.
 */
public final class LeaderGate {

  /**
   * The longest wait of a call: an election takes at most the 10 s of the old leader's lease, about
   * a second if the old leader has ended, and mostly milliseconds.
   */
  private static final Duration PATIENCE = Duration.ofSeconds(12);

  private static final Duration RETRY = Duration.ofSeconds(1);

  /** Describes whether this node leads. */
  private sealed interface Leadership {

    /** Means that this node leads. */
    record Held(LeaderTerm term) implements Leadership {}

    /** Means that this node does not lead. */
    record None() implements Leadership {}

    /**
     * Means that this node does not lead, and that another instance serves the calls from now on.
     */
    record Dismissed() implements Leadership {}

    /** Means that this node keeps no records and never leads. */
    record Elsewhere() implements Leadership {}
  }

  /** Decides about a call. */
  private sealed interface Verdict {

    /** Serves the call under this leadership. */
    record Serve(LeaderTerm term) implements Verdict {}

    /** Refuses the call. */
    record Refuse(RpcException refusal) implements Verdict {}

    /** Lets the call wait: no leader is known. */
    record Await() implements Verdict {}
  }

  private final MutableValue<Leadership> leadership = new MutableValue<>(new Leadership.None());
  private final Value<ConsensusStatus> consensus;
  private final Value<CuratorStatus> curator;
  private final Duration patience;

  /**
   * Creates a closed gate.
   *
   * @param consensus explains in refusals why no curator leads
   * @param curator names the leader in refusals
   */
  public LeaderGate(Value<ConsensusStatus> consensus, Value<CuratorStatus> curator) {
    this(consensus, curator, PATIENCE);
  }

  /** Creates a closed gate with this patience for waiting calls. */
  public LeaderGate(
      Value<ConsensusStatus> consensus, Value<CuratorStatus> curator, Duration patience) {
    this.consensus = consensus;
    this.curator = curator;
    this.patience = patience;
  }

  /** Ends the wait of calls when a leader becomes known, until it is cancelled. */
  public void run(Context context) throws InterruptedException {
    context.healthy();
    try (Watcher<CuratorStatus> statuses = curator.watch()) {
      while (true) {
        statuses.get();
        leadership.update(Optional::orElseThrow);
      }
    }
  }

  void open(LeaderTerm term) {
    leadership.set(new Leadership.Held(term));
  }

  public void close() {
    leadership.set(new Leadership.None());
  }

  /** Refuses all calls from now on: this node keeps no records. */
  public void refuse() {
    leadership.set(new Leadership.Elsewhere());
  }

  /** Sends calls that wait away unless this node leads: another instance serves from now on. */
  public void dismiss() {
    leadership.update(
        now ->
            now.orElseThrow() instanceof Leadership.Held held ? held : new Leadership.Dismissed());
  }

  /** Runs work under the present leadership, whose orderly end waits for the work. */
  public <T> T during(ApiCalls.Body<T> work) throws InterruptedException {
    LeaderTerm term = require();
    while (!term.enter()) {
      // The gate closes before the term finishes, so this waits for the next term.
      term = require();
    }
    try {
      return work.run(term);
    } finally {
      term.leave();
    }
  }

  /** Runs non-blocking work under the present leadership; empty if there is none. */
  public <T> Optional<T> atOnce(Function<LeaderTerm, Optional<T>> work) {
    if (!(leadership.peek().orElseThrow() instanceof Leadership.Held(LeaderTerm term))
        || !term.enter()) {
      return Optional.empty();
    }
    try {
      return work.apply(term);
    } finally {
      term.leave();
    }
  }

  /**
   * Returns the present leadership.
   *
   * @throws RpcException UNAVAILABLE if another node leads, which it names, or if this node does
   *     not lead soon
   */
  public LeaderTerm require() throws InterruptedException {
    if (leadership.peek().orElseThrow() instanceof Leadership.Held(LeaderTerm term)) {
      return term;
    }
    try (Watcher<Verdict> verdicts = Values.map(leadership, this::verdict).watch()) {
      return switch (verdicts.get(now -> !(now instanceof Verdict.Await), patience)) {
        case Verdict.Serve(LeaderTerm term) -> term;
        case Verdict.Refuse(RpcException refusal) -> throw refusal;
        case Verdict.Await await -> throw new AssertionError(await);
      };
    } catch (TimeoutException e) {
      throw RpcException.unavailable(
          "this curator does not lead, and no leader was known within %d s%s; ask for the leader again"
              .formatted(patience.toSeconds(), trouble()),
          RETRY);
    }
  }

  private Verdict verdict(Leadership now) {
    return switch (now) {
      case Leadership.Held(LeaderTerm term) -> new Verdict.Serve(term);
      case Leadership.Dismissed _ ->
          new Verdict.Refuse(
              RpcException.unavailable("another version replaces this curator; call again", RETRY));
      case Leadership.None _ -> elsewhere("this curator does not lead");
      case Leadership.Elsewhere _ ->
          elsewhere("this node keeps no records of the cluster and does not lead");
    };
  }

  private Verdict elsewhere(String why) {
    return leader()
        .<Verdict>map(
            leader ->
                new Verdict.Refuse(
                    RpcException.elsewhere(
                        "%s; ask the leader: %s at %s"
                            .formatted(why, leader.node(), HostPort.of(leader.address())),
                        leader,
                        RETRY)))
        .orElseGet(Verdict.Await::new);
  }

  /** Returns the leader, if it is another node that has published its address. */
  private Optional<NodeEndpoint> leader() {
    return curator.peek().orElseGet(CuratorStatus.Idle::new)
                instanceof CuratorStatus.Following(NodeId leader, String host, int port)
            && port > 0
            && !AdvertisedAddress.checked(host).isEmpty()
        ? Optional.of(
            new NodeEndpoint(leader, new InetSocketAddress(InetAddress.ofLiteral(host), port)))
        : Optional.empty();
  }

  /** Returns why no leader is known, as far as this node can tell. */
  private String trouble() {
    CuratorStatus status = curator.peek().orElseGet(CuratorStatus.Idle::new);
    if (status instanceof CuratorStatus.Following(NodeId leader, String host, int port)) {
      return ": %s leads, and has published no address (\"%s\", port %d)"
          .formatted(leader, host, port);
    }
    if (leadership.peek().orElseThrow() instanceof Leadership.Elsewhere) {
      return ": " + status.describe();
    }
    return switch (consensus.peek().orElseGet(ConsensusStatus.Stopped::new)) {
      case ConsensusStatus.Running running when running.alarms().isEmpty() -> "";
      case ConsensusStatus trouble -> ": " + trouble.text();
    };
  }
}
