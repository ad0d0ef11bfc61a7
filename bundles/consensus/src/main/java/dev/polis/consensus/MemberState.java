package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;

/**
 * Holds the status of the member and the access to it. Runs write it, the service reads it.
 * Thread-safe.
 */
final class MemberState {

  private final MutableValue<ConsensusStatus> status =
      new MutableValue<>(new ConsensusStatus.Stopped());
  private MemberAccess access; // null until a member has served
  private boolean serving;

  Value<ConsensusStatus> status() {
    return status;
  }

  /** Publishes where a member is on its way to serving. */
  synchronized void starting(String waitingFor) {
    status.set(new ConsensusStatus.Starting(waitingFor));
  }

  /** Hands out this access from now on, and publishes that the member runs. */
  synchronized void serve(MemberAccess next) {
    access = next;
    serving = true;
    status.set(next.running());
  }

  /** Publishes a change of a member that serves; does nothing once its run has ended. */
  synchronized void update(ConsensusStatus.Running running) {
    if (serving) {
      status.set(running);
    }
  }

  /** Ends the service of a run that was cancelled; returns whether it had served. */
  synchronized boolean endRun() {
    boolean served = serving;
    serving = false;
    return served;
  }

  /** Publishes why a run ended; access that was handed out stays valid for the next run. */
  synchronized void publish(ConsensusStatus end) {
    status.set(end);
  }

  /** Hands out no access any more, and publishes that the member is stopped. */
  synchronized void clear() {
    access = null;
    serving = false;
    status.set(new ConsensusStatus.Stopped());
  }

  /**
   * Returns the access, also while etcd restarts.
   *
   * @throws ConsensusException if no member has served yet
   */
  synchronized MemberAccess access() {
    if (access == null) {
      throw new ConsensusException(
          "consensus has not served yet: %s; wait until its status is Running"
              .formatted(status.peek().orElseThrow().text()));
    }
    return access;
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
