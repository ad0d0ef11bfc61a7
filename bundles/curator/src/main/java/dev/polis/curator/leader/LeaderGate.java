package dev.polis.curator.leader;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.pki.NodeId;
import dev.polis.rpc.RpcException;
import io.grpc.Status;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Gives calls the present leadership of this node, and lets them wait for the next one.
 * Thread-safe.
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

    /** This node keeps no records and never leads; the text names the node that does. */
    record Elsewhere(Supplier<String> leader) implements Leadership {}
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

  void open(LeaderTerm term) {
    leadership.set(new Leadership.Held(term));
  }

  public void close() {
    leadership.set(new Leadership.None());
  }

  /**
   * Refuses all calls from now on: this node keeps no records.
   *
   * @param leader describes the leader, for people
   */
  public void refuse(Supplier<String> leader) {
    leadership.set(new Leadership.Elsewhere(leader));
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
   * @throws RpcException UNAVAILABLE if this node does not lead soon
   */
  public LeaderTerm require() throws InterruptedException {
    if (leadership.peek().orElseThrow() instanceof Leadership.Held(LeaderTerm term)) {
      return term;
    }
    try (Watcher<Leadership> watcher = leadership.watch()) {
      return switch (watcher.get(now -> !(now instanceof Leadership.None), patience)) {
        case Leadership.Held(LeaderTerm term) -> term;
        case Leadership.Elsewhere(Supplier<String> leader) ->
            throw new RpcException(
                Status.Code.FAILED_PRECONDITION,
                "this node keeps no records of the cluster; ask the leader: " + leader.get());
        case Leadership.None _, Leadership.Dismissed _ ->
            throw RpcException.unavailable(
                "another version replaces this curator; call again", RETRY);
      };
    } catch (TimeoutException e) {
      throw RpcException.unavailable(
          "this curator does not lead and did not win an election within %d s%s; ask %s"
              .formatted(patience.toSeconds(), troubleOfConsensus(), leader()),
          RETRY);
    }
  }

  private String leader() {
    return curator.peek().orElseGet(CuratorStatus.Idle::new)
            instanceof CuratorStatus.Following(NodeId leader, String host, int port)
        ? "the leader: %s at %s:%d".formatted(leader, host, port)
        : "for the leader again";
  }

  private String troubleOfConsensus() {
    return switch (consensus.peek().orElseGet(ConsensusStatus.Stopped::new)) {
      case ConsensusStatus.Running running when running.alarms().isEmpty() -> "";
      case ConsensusStatus status -> ": " + status.text();
    };
  }
}
