package dev.polis.etcd;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * Opens connections whose leases use a monotonic clock that a test can move; the boot-time clock,
 * which also counts during a suspension, and the wall clock are the machine's.
 */
public final class SteppedLeases {

  private final AtomicLong ahead = new AtomicLong();

  /** Opens a connection. */
  public SharedEtcdConnection connection(Supplier<EtcdAccess> access) {
    LeaseClocks real = LeaseClocks.SYSTEM;
    return new SharedEtcdConnection(
        access,
        new LeaseClocks(() -> real.nanos().getAsLong() + ahead.get(), real.boot(), real.wall()));
  }

  /** Moves the clock forward, or back if negative. */
  public void step(Duration by) {
    ahead.addAndGet(by.toNanos());
  }
}
