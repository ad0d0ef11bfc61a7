package dev.polis.rpc;

import java.util.HashMap;
import java.util.Map;

/**
 * Counts the connections or calls that a port has turned away, by their source. Safe for use by any
 * thread.
 */
final class TurnedAway {
  /** The number of sources counted between two looks; further ones count in the sum alone. */
  private static final int SOURCES = 4096;

  // Guarded by this.
  private final Map<String, Long> bySource = new HashMap<>();
  private long total;
  private long seen;

  synchronized void add(String source) {
    total++;
    if (bySource.size() < SOURCES || bySource.containsKey(source)) {
      bySource.merge(source, 1L, Long::sum);
    }
  }

  synchronized long total() {
    return total;
  }

  /** Returns the counts since the previous call. One thread calls it from time to time. */
  synchronized Pressure pressure() {
    Pressure worst = new Pressure(total - seen, 0, "");
    seen = total;
    for (Map.Entry<String, Long> each : bySource.entrySet()) {
      if (each.getValue() > worst.ofWorst()) {
        worst = new Pressure(worst.turnedAway(), each.getValue(), each.getKey());
      }
    }
    bySource.clear();
    return worst;
  }

  /**
   * Holds the counts of a period.
   *
   * @param turnedAway the number of refusals
   * @param ofWorst the number of refusals of the worst source
   * @param worst the worst source; empty without refusals
   */
  record Pressure(long turnedAway, long ofWorst, String worst) {}
}
