package dev.polis.etcd;

import java.time.Duration;

/**
 * Tells a leader whether its lock certainly exists at etcd, without asking etcd. So a leader that
 * is the only writer of its records may answer reads from memory: it reads memory first, and asks
 * here afterwards. If the answer is yes, no other process could write before memory was read.
 *
 * <p>The lock hangs on a lease, whose life is counted here from before the sending of the last
 * request that etcd answered, by three clocks: the monotonic one, the one that runs on while the
 * machine is suspended, and the wall clock. The first over ends the certainty. It ends a margin
 * before the lease does, and at once when the lease is given back, handed over or lost.
 *
 * <p>Once the certainty was seen to have ended, only etcd brings it back, by the answer to a
 * renewal that was sent afterwards: such an answer shows that the lease never expired there. A
 * clock that is set back does not. A lease whose whole life is over ends for good.
 *
 * <p>Not covered: a lease that is revoked by hand, until its holder learns of it; a lock deleted by
 * hand, for candidates that come after that; and a virtual machine whose clocks its host stops all
 * at once, until the host sets the wall clock.
 */
public final class LeaderLease {

  /**
   * The part of a lease's life that is left unused. It covers clocks of different speed, and the
   * time for which a replaced leader of etcd may still answer keep-alive requests, which is an
   * election timeout of etcd: 1 s, where the lease of a leader lives for 10 s by default. Renewals
   * come three times in a lease's life, so the last quarter is not needed while etcd answers.
   */
  private static final int MARGIN_PARTS = 4;

  final Lease lease;
  private final Duration margin;
  private volatile boolean over;

  LeaderLease(Lease lease) {
    this.lease = lease;
    this.margin = lease.ttl().dividedBy(MARGIN_PARTS);
  }

  /** Returns whether the lock certainly exists at this instant; false says nothing. */
  public boolean holds() {
    // This comes after the lease: the holder learns of the end before another candidate may rely on
    // it.
    return lease.isCertain(margin) && !over;
  }

  /** Ends the certainty for good: the lock is known to be gone. */
  void end() {
    over = true;
  }

  @Override
  public String toString() {
    return "LeaderLease[" + lease + ", margin " + margin.toMillis() + " ms]";
  }
}
