package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import java.util.Optional;

/**
 * Holds the status of the member and the access to it. Runs write it, the service reads it.
 * Thread-safe.
 */
final class MemberState {

  private final MutableValue<ConsensusStatus> status =
      new MutableValue<>(new ConsensusStatus.Stopped());
  private volatile MemberAccess access; // null until a member has served

  Value<ConsensusStatus> status() {
    return status;
  }

  void publish(ConsensusStatus next) {
    status.set(next);
  }

  /** Hands out this access from now on. */
  void serve(MemberAccess next) {
    access = next;
  }

  /** Hands out no access any more, and publishes that the member is stopped. */
  void clear() {
    access = null;
    status.set(new ConsensusStatus.Stopped());
  }

  /**
   * Returns the access, also while etcd restarts.
   *
   * @throws ConsensusException if no member has served yet
   */
  MemberAccess access() {
    return Optional.ofNullable(access)
        .orElseThrow(
            () ->
                new ConsensusException(
                    "consensus has not served yet: "
                        + status.peek().map(ConsensusStatus::text).orElse("no status")
                        + "; wait until its status is Running"));
  }

  /**
   * Returns the access to a member that serves now.
   *
   * @throws ConsensusException if it does not
   */
  MemberAccess runningAccess() {
    MemberAccess present = access();
    return switch (status.peek().orElseThrow()) {
      case ConsensusStatus.Running _ -> present;
      case ConsensusStatus other ->
          throw new ConsensusException(other.text() + "; wait until its status is Running");
    };
  }
}
