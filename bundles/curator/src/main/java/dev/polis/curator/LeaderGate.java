package dev.polis.curator;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.rpc.RpcException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeoutException;

/** Where calls find the present leadership, or wait a little for the next. Thread-safe. */
final class LeaderGate {

  /**
   * An election takes as long as the old leader's lease, 10 s, at worst; most take milliseconds.
   */
  private static final Duration PATIENCE = Duration.ofSeconds(12);

  private static final Duration RETRY = Duration.ofSeconds(1);

  /** Holds the term, or nothing: a list, since a value may not be null. */
  private final MutableValue<List<LeaderTerm>> term = new MutableValue<>(List.of());

  private final Value<ConsensusStatus> consensus;
  private final Duration patience;

  /**
   * Creates a closed gate.
   *
   * @param consensus without which there is no leader: what it says is told to who waits in vain
   */
  LeaderGate(Value<ConsensusStatus> consensus) {
    this(consensus, PATIENCE);
  }

  /** A gate at which callers wait for so long. */
  LeaderGate(Value<ConsensusStatus> consensus, Duration patience) {
    this.consensus = consensus;
    this.patience = patience;
  }

  void open(LeaderTerm leading) {
    term.set(List.of(leading));
  }

  void close() {
    term.set(List.of());
  }

  /**
   * Returns the present leadership.
   *
   * @throws RpcException UNAVAILABLE if this node does not come to lead soon
   */
  LeaderTerm require() throws InterruptedException {
    List<LeaderTerm> now = term.peek().orElseThrow();
    if (!now.isEmpty()) {
      return now.getFirst();
    }
    try (Watcher<List<LeaderTerm>> watcher = term.watch()) {
      return watcher.get(next -> !next.isEmpty(), patience).getFirst();
    } catch (TimeoutException e) {
      throw RpcException.unavailable(
          "this curator does not lead, and no election was won within %d s%s; ask for the leader again"
              .formatted(patience.toSeconds(), complaint()),
          RETRY);
    }
  }

  private String complaint() {
    return switch (consensus.peek().orElseGet(ConsensusStatus.Stopped::new)) {
      case ConsensusStatus.Running running when running.alarms().isEmpty() -> "";
      case ConsensusStatus status -> ": " + status.text();
    };
  }
}
