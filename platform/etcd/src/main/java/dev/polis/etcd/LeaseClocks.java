package dev.polis.etcd;

import dev.polis.base.posix.BootClock;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * Reads the three clocks for leases.
 *
 * <p>{@link System#nanoTime} does not count the time for which the machine was suspended. {@link
 * BootClock} does, and no program can set it. Only the wall clock shows that the host has stopped
 * this virtual machine for a while, if the host then sets it.
 *
 * @param nanos a monotonic clock, in nanoseconds
 * @param boot a monotonic clock that also runs while the machine is suspended, in milliseconds
 * @param wall the wall clock, in milliseconds
 */
record LeaseClocks(LongSupplier nanos, LongSupplier boot, LongSupplier wall) {

  static final LeaseClocks SYSTEM =
      new LeaseClocks(System::nanoTime, new BootClock(), System::currentTimeMillis);

  /** Holds the readings of the clocks at one moment. */
  record Instant(long nanos, long boot, long wall) {

    Instant plus(Duration time) {
      return new Instant(nanos + time.toNanos(), boot + time.toMillis(), wall + time.toMillis());
    }

    /** Returns whether this is earlier than the other by both clocks that cannot be set. */
    boolean isBefore(Instant other) {
      return nanos - other.nanos < 0 && boot < other.boot;
    }

    /** Returns whether this is earlier than the other by all clocks. */
    boolean isBeforeByAll(Instant other) {
      return isBefore(other) && wall < other.wall;
    }
  }

  Instant now() {
    return new Instant(nanos.getAsLong(), boot.getAsLong(), wall.getAsLong());
  }
}
