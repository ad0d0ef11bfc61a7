package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.etcd.EtcdAccess;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Holds the status of the member and the access to it. Runs write it, the service reads it.
 * Thread-safe.
 */
final class MemberState {

  private final MutableValue<ConsensusStatus> status =
      new MutableValue<>(new ConsensusStatus.Stopped());

  private final UserIdentities identities;

  /** True to keep the published status until a run serves or has failed. */
  private boolean quiet;

  private MemberAccess access; // null until a member has served
  private EtcdAccess running; // null until etcd has run
  private boolean serving;
  private boolean maintenanceDue;
  private String newest = ""; // the id of the member that was added last

  /** True while etcd runs with the short heartbeat of a single member. */
  private boolean alone;

  /** True once that etcd must start again with the heartbeat of several members. */
  private boolean outgrown;

  /**
   * @param identities the identities of users, which each run renews
   */
  MemberState(UserIdentities identities) {
    this.identities = identities;
  }

  Value<ConsensusStatus> status() {
    return status;
  }

  /**
   * Allows root to use an etcd that runs and may not serve yet, for lack of a quorum.
   *
   * @param member the local member
   */
  synchronized void runs(PreparedMember member) {
    running = member.rootAccess();
    alone = member.line().alone();
    outgrown = false;
  }

  /** Tells the run that the cluster has other members, or is about to get the first one. */
  synchronized void othersKnown() {
    outgrown = alone;
  }

  /** Returns whether etcd must start again, since its heartbeat is that of a single member. */
  synchronized boolean outgrown() {
    return outgrown;
  }

  /**
   * Requires that etcd may get another member, and otherwise lets the run start it again. After the
   * second vote it would be too late: etcd has no leader then until this member is back.
   *
   * @throws ConsensusException if etcd has the heartbeat of a single member
   */
  synchronized void requireHeartbeatOfSeveral() {
    if (alone) {
      othersKnown();
      throw new ConsensusException(
          "etcd starts again first, to take the heartbeat of a cluster of several members; call again");
    }
  }

  /**
   * Returns root's access to the local member, also while it does not serve.
   *
   * @throws ConsensusException if etcd has not run
   */
  synchronized EtcdAccess root() {
    if (running == null) {
      throw new ConsensusException(
          "etcd does not run on this node: %s; ask a node with the role ConsensusMember"
              .formatted(status.peek().orElseThrow().text()));
    }
    return running;
  }

  /** Returns whether the member starts, and may serve soon. */
  boolean isStarting() {
    return status.peek().orElseThrow() instanceof ConsensusStatus.Starting;
  }

  /** Publishes the present step of a member's start. */
  synchronized void starting(String waitingFor) {
    if (quiet) {
      return;
    }
    status.set(new ConsensusStatus.Starting(waitingFor));
  }

  /** Returns this access from now on, and publishes that the member runs. */
  synchronized void serve(MemberAccess next) {
    access = next;
    identities.renew(next.pki());
    identities.hold().release();
    serving = true;
    if (!quiet || !isOf(next)) {
      status.set(next.running());
    }
    quiet = false;
    notifyAll();
  }

  /** Returns what this member has given to other organs. */
  UserIdentities identities() {
    return identities;
  }

  /** Publishes a change of a serving member; does nothing after the end of its run. */
  synchronized void update(ConsensusStatus.Running running) {
    if (serving) {
      status.set(running);
    }
  }

  /**
   * Ends the pause of the maintenance: the cluster has another member.
   *
   * @return whether this method hears of this member for the first time
   */
  synchronized boolean memberAdded(String id) {
    if (id.equals(newest)) {
      return false;
    }
    newest = id;
    maintenanceDue = true;
    notifyAll();
    return true;
  }

  /**
   * Ends the pause of the maintenance if etcd's alarms are others than the published ones: without
   * this an operator would read the cause of a refused write only after the pause.
   *
   * @param alarms the raised alarms, as in {@link ConsensusStatus.Running}
   */
  synchronized void alarms(List<String> alarms) {
    if (status.peek().orElseThrow() instanceof ConsensusStatus.Running running
        && !Set.copyOf(running.alarms()).equals(Set.copyOf(alarms))) {
      maintenanceDue = true;
      notifyAll();
    }
  }

  /** Waits until the maintenance has something to do, this long at most. */
  synchronized void awaitMaintenance(Duration within) throws InterruptedException {
    long end = System.nanoTime() + within.toNanos();
    while (!maintenanceDue && System.nanoTime() < end) {
      TimeUnit.NANOSECONDS.timedWait(this, end - System.nanoTime());
    }
    maintenanceDue = false;
  }

  /** Ends the service of a cancelled run; returns whether it had served. */
  synchronized boolean endRun() {
    boolean served = serving;
    serving = false;
    return served;
  }

  /** Publishes the reason for the end of a run; returned accesses stay valid for the next run. */
  synchronized void publish(ConsensusStatus end) {
    status.set(end);
    quiet = false;
    notifyAll();
  }

  /** Publishes the status of another instance, and keeps it until a run serves or fails. */
  synchronized void goOn(ConsensusStatus published) {
    quiet = true;
    if (!status.peek().equals(Optional.of(published))) {
      status.set(published);
    }
  }

  /** Waits until a run serves or has failed; returns whether one serves. */
  synchronized boolean awaitServing(Duration within) throws InterruptedException {
    long end = System.nanoTime() + within.toNanos();
    while (quiet && System.nanoTime() < end) {
      TimeUnit.NANOSECONDS.timedWait(this, end - System.nanoTime());
    }
    return serving;
  }

  /** Returns whether the published status belongs to this member, whatever its alarms. */
  private boolean isOf(MemberAccess member) {
    return status.peek().orElseThrow() instanceof ConsensusStatus.Running running
        && member.running(running.alarms()).equals(running);
  }

  /** Removes the access, and publishes that the member is stopped. */
  synchronized void clear() {
    identities.hold().release();
    access = null;
    running = null;
    serving = false;
    quiet = false;
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
          "consensus does not serve yet: %s; wait until its status is Running"
              .formatted(status.peek().orElseThrow().text()));
    }
    return access;
  }

  /**
   * Returns the access to the serving member.
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
