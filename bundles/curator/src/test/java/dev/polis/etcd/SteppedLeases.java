package dev.polis.etcd;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * Opens connections that count their leases by a monotonic clock which a test puts forward and
 * back; the clock that runs on during a suspension, and the wall clock, are those of the machine.
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

  /** Puts the clock forward, or back if negative. */
  public void step(Duration by) {
    ahead.addAndGet(by.toNanos());
  }
}
