package dev.polis.curator;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.rpc.RpcException;
import java.time.Duration;
import java.util.concurrent.TimeoutException;

/**
 * Gives calls the present leadership of this node, and lets them wait a short time for the next
 * one. Thread-safe.
 */
final class LeaderGate {

  /**
   * An election takes as long as the old leader's lease, 10 s, at worst; most take milliseconds.
   */
  private static final Duration PATIENCE = Duration.ofSeconds(12);

  private static final Duration RETRY = Duration.ofSeconds(1);

  /** Says whether this node leads. */
  private sealed interface Leadership {

    /** This node leads. */
    record Held(LeaderTerm term) implements Leadership {}

    /** This node does not lead. */
    record None() implements Leadership {}
  }

  private final MutableValue<Leadership> leadership = new MutableValue<>(new Leadership.None());
  private final Value<ConsensusStatus> consensus;
  private final Duration patience;

  /**
   * Creates a closed gate.
   *
   * @param consensus explains in refusals why there is no leader
   */
  LeaderGate(Value<ConsensusStatus> consensus) {
    this(consensus, PATIENCE);
  }

  /** Creates a closed gate at which calls wait for {@code patience}. */
  LeaderGate(Value<ConsensusStatus> consensus, Duration patience) {
    this.consensus = consensus;
    this.patience = patience;
  }

  void open(LeaderTerm term) {
    leadership.set(new Leadership.Held(term));
  }

  void close() {
    leadership.set(new Leadership.None());
  }

  /**
   * Returns the present leadership.
   *
   * @throws RpcException UNAVAILABLE if this node does not come to lead soon
   */
  LeaderTerm require() throws InterruptedException {
    if (leadership.peek().orElseThrow() instanceof Leadership.Held(LeaderTerm term)) {
      return term;
    }
    try (Watcher<Leadership> watcher = leadership.watch()) {
      return ((Leadership.Held) watcher.get(Leadership.Held.class::isInstance, patience)).term();
    } catch (TimeoutException e) {
      throw RpcException.unavailable(
          "this curator does not lead, and no election was won within %d s%s; ask for the leader again"
              .formatted(patience.toSeconds(), troubleOfConsensus()),
          RETRY);
    }
  }

  private String troubleOfConsensus() {
    return switch (consensus.peek().orElseGet(ConsensusStatus.Stopped::new)) {
      case ConsensusStatus.Running running when running.alarms().isEmpty() -> "";
      case ConsensusStatus status -> ": " + status.text();
    };
  }
}
