package dev.polis.supervision;

import java.time.Instant;

/** Gives the tree its time and its alarms; tests move the time themselves. */
interface Timer extends AutoCloseable {

  /** Returns a monotonic time in nanoseconds. */
  long nanos();

  /** Returns the time of day, for people. */
  Instant time();

  /** Calls an action once after a delay, on the timer's thread. */
  Alarm schedule(long delayNanos, Runnable action);

  @Override
  void close();

  /** Is a scheduled call. */
  interface Alarm {
    /** Prevents the call if it has not begun. */
    void cancel();
  }
}
