package dev.polis.rpc;

import java.util.HashMap;
import java.util.Map;

/** Counts what a port has turned away, and from where. Safe for use by any thread. */
final class TurnedAway {
  /** Sources counted between two looks; those beyond it count in the sum alone. */
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

  /**
   * Returns what was turned away since this was asked last. For one caller, who asks from time to
   * time.
   */
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
   * Says how much was turned away in a while.
   *
   * @param turnedAway how much was
   * @param ofWorst what came from the source that had the most of it
   * @param worst that source; empty if nothing was turned away
   */
  record Pressure(long turnedAway, long ofWorst, String worst) {}
}
