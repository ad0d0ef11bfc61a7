package dev.polis.etcd;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * Reads the two clocks by which leases are counted.
 *
 * <p>{@link System#nanoTime} does not count the time for which the machine was suspended. Linux has
 * a clock that does, but linking to it costs 0.1 s of each start; the wall clock counts it, too.
 *
 * @param nanos a monotonic clock, in nanoseconds
 * @param millis the wall clock, in milliseconds
 */
record LeaseClocks(LongSupplier nanos, LongSupplier millis) {

  static final LeaseClocks SYSTEM = new LeaseClocks(System::nanoTime, System::currentTimeMillis);

  /** Holds what both clocks showed at one moment. */
  record Instant(long nanos, long millis) {

    Instant plus(Duration time) {
      return new Instant(nanos + time.toNanos(), millis + time.toMillis());
    }

    /** Returns whether this is earlier than the other by both clocks. */
    boolean isBefore(Instant other) {
      return nanos - other.nanos < 0 && millis < other.millis;
    }
  }

  Instant now() {
    return new Instant(nanos.getAsLong(), millis.getAsLong());
  }
}
