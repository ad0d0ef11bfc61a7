package dev.polis.etcd;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * Reads the three clocks by which leases are counted.
 *
 * <p>{@link System#nanoTime} does not count the time for which the machine was suspended. {@link
 * LeaseClockOfBoot} does, and no program can set it. The wall clock is all that tells of a virtual
 * machine which its host stopped, if the host then sets it.
 *
 * @param nanos a monotonic clock, in nanoseconds
 * @param boot a monotonic clock that runs on while the machine is suspended, in milliseconds
 * @param wall the wall clock, in milliseconds
 */
record LeaseClocks(LongSupplier nanos, LongSupplier boot, LongSupplier wall) {

  static final LeaseClocks SYSTEM =
      new LeaseClocks(System::nanoTime, new LeaseClockOfBoot(), System::currentTimeMillis);

  /** Holds what the clocks showed at one moment. */
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
