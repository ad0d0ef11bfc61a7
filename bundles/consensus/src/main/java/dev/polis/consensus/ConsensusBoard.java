package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import java.util.Optional;

/** What the organ tells the others; runs write it, the service shows it. Thread-safe. */
final class ConsensusBoard {

  private final MutableValue<ConsensusStatus> status =
      new MutableValue<>(new ConsensusStatus.Stopped());
  private volatile ConsensusGround ground; // null while nothing can be handed out

  Value<ConsensusStatus> status() {
    return status;
  }

  void publish(ConsensusStatus next) {
    status.set(next);
  }

  /** From now on access can be handed out. */
  void stand(ConsensusGround next) {
    ground = next;
  }

  /** Nothing is handed out any more. */
  void clear() {
    ground = null;
    status.set(new ConsensusStatus.Stopped());
  }

  Optional<ConsensusGround> peek() {
    return Optional.ofNullable(ground);
  }

  ConsensusGround ground() {
    return peek()
        .orElseThrow(
            () ->
                new ConsensusException(
                    "consensus has not served yet: "
                        + status.peek().map(ConsensusStatus::text).orElse("no status")
                        + "; wait until its status is Running"));
  }

  ConsensusGround runningGround() {
    ConsensusGround present = ground();
    return switch (status.peek().orElseThrow()) {
      case ConsensusStatus.Running _ -> present;
      case ConsensusStatus other ->
          throw new ConsensusException(other.text() + "; wait until its status is Running");
    };
  }
}
