package dev.polis.etcd;

import java.time.Duration;

/**
 * Shows a leader, without a call to etcd, whether its lock certainly exists. So a leader that is
 * the only writer of its records may answer reads from memory: it reads memory first, and calls
 * {@link #holds} afterwards. If that returns true, no other process could write before the read.
 *
 * <p>The lock hangs on a lease, whose life counts here from the time before the last answered
 * request was sent, by three clocks: the monotonic one, the one that also runs while the machine is
 * suspended, and the wall clock. The first clock that reaches the end ends the certainty. It ends a
 * margin before the lease does, and at once when the lease is given back, handed over or lost.
 *
 * <p>While there are other candidates, they may remove a lock that its holder has not written for
 * {@link LeaderBeats#SILENCE}. Then the certainty needs the answer to such a write too, and ends a
 * margin before that time is over. The other candidates begin to count when they see the write,
 * which is later than its sending.
 *
 * <p>After an observed end of the certainty, only etcd restores it, by the answer to a later
 * renewal: this answer shows that the lease never expired there. A clock that is set back does not
 * restore it. A lease whose whole life is over ends for good.
 *
 * <p>Not covered: a lease that is revoked by hand, until its holder learns of it; a lock deleted by
 * hand, for candidates that come after that; and a virtual machine whose clocks its host stops all
 * at once, until the host sets the wall clock.
 */
public final class LeaderLease {

  /**
   * The part of a proved time that remains unused, a quarter. It covers clocks of different speed,
   * and the time for which a replaced leader of etcd may still answer keep-alive requests, which is
   * an election timeout of etcd: half a second, where the lease of a leader lives for 10 s by
   * default. Renewals and beats come three times in the proved time, so its last quarter is not
   * needed while etcd answers.
   */
  private static final int MARGIN_PARTS = 4;

  final Lease lease;
  private final Duration margin;
  private volatile Certainty beats; // null while the lock was never written again
  private volatile boolean over;

  LeaderLease(Lease lease) {
    this.lease = lease;
    this.margin = marginOf(lease.ttl());
  }

  private static Duration marginOf(Duration proved) {
    return proved.dividedBy(MARGIN_PARTS);
  }

  /** Returns whether the lock certainly exists at this instant; false leaves it open. */
  public boolean holds() {
    // Read first: if the lock was not written again before this, no candidate could remove it
    // before the caller read memory.
    Certainty written = beats;
    LeaseClocks.Instant now = lease.now();
    // The end is checked last: the holder learns of it before another candidate may rely on it.
    return lease.isCertainUntil(now.plus(margin))
        && (written == null || written.lastsUntil(now.plus(marginOf(LeaderBeats.SILENCE))))
        && !over;
  }

  /**
   * Requires an answered write of the lock for the certainty from now on. The holder calls it
   * before it sends the first one, with which other candidates begin to count.
   */
  synchronized void relyOnBeats() {
    if (beats == null) {
      beats = new Certainty(lease.now(), Duration.ZERO);
    }
  }

  /** Returns whether the certainty needs an answered write of the lock. */
  boolean reliesOnBeats() {
    return beats != null;
  }

  /** Begins a write of the lock; called before it is sent, after {@link #relyOnBeats}. */
  Certainty.Request beat() {
    return beats.request(lease.now());
  }

  /** Records that etcd has written the lock. */
  void beatAnswered(Certainty.Request beat) {
    beats.answered(beat, LeaderBeats.SILENCE);
  }

  /** Ends the certainty for good because the lock is gone. */
  void end() {
    over = true;
  }

  @Override
  public String toString() {
    return "LeaderLease[" + lease + ", margin " + margin.toMillis() + " ms]";
  }
}
