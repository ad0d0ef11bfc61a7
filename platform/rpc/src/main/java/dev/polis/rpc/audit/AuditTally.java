package dev.polis.rpc.audit;

import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/**
 * Counts events that are too frequent for a record each, and sums them up after each period. The
 * period grows while each period has events, so that few lines report many events. Safe for any
 * thread.
 */
final class AuditTally {
  /** The number of keys with a count of their own; all others share one count. */
  static final int KEYS = 256;

  /** The number of keys in one line, whose length is limited. */
  private static final int NAMED = 8;

  private final String what;
  private final long shortest;
  private final long longest;
  private final LongSupplier nanoTime;

  // Guarded by this.
  private final Map<String, Long> counts = new HashMap<>();
  private long total;
  private long period;
  private long began;
  private long ended;

  /**
   * Makes an empty tally.
   *
   * @param what the begin of the line, such as {@code calls refused}
   * @param shortest the first period
   * @param longest the longest period
   * @param nanoTime the clock, as {@link System#nanoTime}
   */
  AuditTally(String what, Duration shortest, Duration longest, LongSupplier nanoTime) {
    this.what = what;
    this.shortest = shortest.toNanos();
    this.longest = longest.toNanos();
    this.nanoTime = nanoTime;
    this.period = this.shortest;
    this.ended = nanoTime.getAsLong();
  }

  /**
   * Counts one event.
   *
   * @return whether a period begins with this event
   */
  synchronized boolean add(String key) {
    boolean first = total == 0;
    if (first) {
      begin();
    }
    total++;
    Long known = counts.get(key);
    if (known != null) {
      counts.put(key, known + 1);
    } else if (counts.size() < KEYS) {
      counts.put(key, 1L);
    }
    return first;
  }

  private void begin() {
    began = nanoTime.getAsLong();
    period = began - ended < period ? Math.min(longest, period * 2) : shortest;
  }

  /** Returns the time until the period ends, at least 0; empty without events. */
  synchronized OptionalLong left() {
    return total == 0
        ? OptionalLong.empty()
        : OptionalLong.of(Math.max(0, period - (nanoTime.getAsLong() - began)));
  }

  /**
   * Ends the period.
   *
   * @return the counts in one line; empty without events
   */
  synchronized Optional<String> take() {
    if (total == 0) {
      return Optional.empty();
    }
    ended = nanoTime.getAsLong();
    String named =
        counts.entrySet().stream()
            .sorted(
                Map.Entry.<String, Long>comparingByValue(Comparator.reverseOrder())
                    .thenComparing(Map.Entry.comparingByKey()))
            .limit(NAMED)
            .map(entry -> entry.getValue() + " " + entry.getKey())
            .collect(Collectors.joining("; "));
    long told =
        counts.values().stream()
            .sorted(Comparator.reverseOrder())
            .limit(NAMED)
            .mapToLong(n -> n)
            .sum();
    String line =
        "%d %s in %d s: %s%s"
            .formatted(
                total,
                what,
                Duration.ofNanos(ended - began).toSeconds(),
                named,
                total == told ? "" : "; " + (total - told) + " others");
    counts.clear();
    total = 0;
    return Optional.of(line);
  }
}
