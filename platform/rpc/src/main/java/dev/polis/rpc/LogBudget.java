package dev.polis.rpc;

import dev.polis.logtree.Log;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/** Limits how many lines strangers can make this node log. Safe for any thread. */
public final class LogBudget {
  /** The size of the budget; ten lines show a fault, and a flood adds its count. */
  private static final int REFUSALS = 10;

  private static final Duration REFUSALS_AGAIN = Duration.ofSeconds(1);

  private final int burst;
  private final long intervalNanos;
  private final LongSupplier nanoTime;

  // Guarded by this.
  private long filled; // the time at which the budget was or becomes full
  private long left;
  private long skipped;

  /** Makes a budget for the lines about refused strangers. */
  public static LogBudget ofRefusals() {
    return new LogBudget(REFUSALS, REFUSALS_AGAIN, System::nanoTime);
  }

  /** Logs a refusal within the budget; a line names the number of skipped lines. */
  public void warn(Log log, String line) {
    take()
        .ifPresent(
            skipped ->
                log.warning(
                    "%s%s",
                    line,
                    skipped == 0 ? "" : " (" + skipped + " more failed since the last such line)"));
  }

  /** Logs an unforeseen exception within the budget, with the line of code that threw it. */
  public void warn(Log log, String line, RuntimeException unforeseen) {
    String place =
        Stream.of(unforeseen.getStackTrace()).findFirst().map(at -> " at " + at).orElse("");
    warn(log, line + ": " + HandshakeLog.printable(unforeseen + place));
  }

  /**
   * Makes a full budget.
   *
   * @param burst the number of lines that may follow each other at once
   * @param interval the time until one more line is free
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
   * @return the number of lines that were skipped since the last one; empty if the budget is used
   *     up
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
