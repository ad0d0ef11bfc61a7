package dev.polis.rpc;

import dev.polis.logtree.Log;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/** Limits how many lines strangers can make this node log. Safe for any thread. */
public final class LogBudget {
  /** Ten lines show the fault; a flood adds only its number of failures. */
  private static final int REFUSALS = 10;

  private static final Duration REFUSALS_AGAIN = Duration.ofSeconds(1);

  private final int burst;
  private final long intervalNanos;
  private final LongSupplier nanoTime;

  // Guarded by this.
  private long filled; // when the budget was full, or would have been
  private long left;
  private long skipped;

  /** Makes a budget for the lines that tell why strangers were refused. */
  public static LogBudget ofRefusals() {
    return new LogBudget(REFUSALS, REFUSALS_AGAIN, System::nanoTime);
  }

  /** Logs a refusal, unless too many were logged just before; a line tells how many were not. */
  public void warn(Log log, String line) {
    take()
        .ifPresent(
            skipped ->
                log.warning(
                    "%s%s",
                    line,
                    skipped == 0 ? "" : " (" + skipped + " more failed since the last such line)"));
  }

  /** Does the same with an exception that was not foreseen, and with its place if it has one. */
  public void warn(Log log, String line, RuntimeException unforeseen) {
    String place =
        Stream.of(unforeseen.getStackTrace()).findFirst().map(at -> " at " + at).orElse("");
    warn(log, line + ": " + HandshakeLog.printable(unforeseen + place));
  }

  /**
   * Makes a full budget.
   *
   * @param burst lines that may follow each other at once
   * @param interval time in which one more line becomes available
   * @param nanoTime the clock, as {@link System#nanoTime}
   */
  LogBudget(int burst, Duration interval, LongSupplier nanoTime) {
    this.burst = burst;
    this.intervalNanos = interval.toNanos();
    this.nanoTime = nanoTime;
    this.left = burst;
    this.filled = nanoTime.getAsLong();
  }

  /**
   * Takes one line from the budget.
   *
   * @return how many lines were skipped since the last one; empty if this one is to be skipped too
   */
  synchronized OptionalLong take() {
    long earned = (nanoTime.getAsLong() - filled) / intervalNanos;
    filled += earned * intervalNanos;
    left = Math.min(burst, left + earned);
    if (left == 0) {
      skipped++;
      return OptionalLong.empty();
    }
    left--;
    long before = skipped;
    skipped = 0;
    return OptionalLong.of(before);
  }
}
