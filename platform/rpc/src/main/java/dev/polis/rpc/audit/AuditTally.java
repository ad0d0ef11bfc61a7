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
 * Counts what happens too often for a record each, and sums it up after a period. The period grows
 * while things happen in each, so that however many there are, few lines tell of them. Safe for any
 * thread.
 */
final class AuditTally {
  /** Keeps this many keys apart; what comes from others is one number. */
  static final int KEYS = 256;

  /** Names this many keys in one line; a line has room for no more. */
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
   * @param what begins the line, such as {@code calls refused}
   * @param shortest first period
   * @param longest what the period grows to
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
   * Counts one.
   *
   * @return whether a period begins with it
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

  /** Returns the time until the period ends, at least 0; empty if nothing was counted. */
  synchronized OptionalLong left() {
    return total == 0
        ? OptionalLong.empty()
        : OptionalLong.of(Math.max(0, period - (nanoTime.getAsLong() - began)));
  }

  /**
   * Ends the period.
   *
   * @return what was counted, in one line; empty if nothing was
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
