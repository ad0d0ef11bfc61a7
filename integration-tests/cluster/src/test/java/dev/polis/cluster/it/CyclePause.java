package dev.polis.cluster.it;

import java.time.Duration;

/**
 * Holds the time that a swap of an organ may add to the longest time without an answer. Where the
 * aim is missed, the limit is one and a half times the measured time, so that it does not grow.
 *
 * @param aim the aim in docs/measurements.md, at p99 @param limit the asserted p99 over the
 *     hundreds of swaps of the long form @param median the asserted median of ten swaps, whose p99
 *     would be their largest, and so depend on one collection of the heap
 */
record CyclePause(Duration aim, Duration limit, Duration median) {

  private static final Duration SHALLOW = Duration.ofMillis(10);

  /**
   * The median of the longest waits of the curator's callers without a swap, on the machine where
   * the aims were set (docs/measurements.md). They keep a processor busy, so the work of a swap
   * delays them in proportion to it.
   */
  private static final Duration QUIET = Duration.ofNanos(6_200_000);

  private static final Duration CURATOR = Duration.ofMillis(50);
  private static final Duration DEEP = Duration.ofMillis(250);

  /** Returns the pause of an organ. */
  static CyclePause of(String organ) {
    return switch (organ) {
      // Measured when a client's connection ended with the organ, and the first page was cold code.
      case "metrics" -> missed(SHALLOW, 80, 20);
      // Measured when each instance made three handshakes with the curator of its own process.
      case "roles" -> missed(SHALLOW, 17, 10);
      // Signatures are verified anew before code starts: 10.6 ms on an otherwise idle machine.
      case "convergence" -> missed(SHALLOW, 17, 11);
      // Its own callers wait for 43 ms without a swap; the median of ten swaps added 7 to 19 ms in
      // three runs.
      case "kubernetes" -> new CyclePause(SHALLOW, SHALLOW, andHalf(13));
      case "curator" -> missed(CURATOR, 126, 90);
      case "cluster", "network", "storage", "consensus" -> new CyclePause(DEEP, DEEP, DEEP);
      default -> new CyclePause(SHALLOW, SHALLOW, SHALLOW);
    };
  }

  /**
   * Returns the limit for the median swap on a machine with this wait without a swap: a shallow
   * organ's pause is computation, a deep organ's is a hand-over that calls wait for.
   *
   * @param without the longest wait of the curator's callers without a swap
   */
  Duration medianWhere(Duration without) {
    return aim.equals(SHALLOW) && without.compareTo(QUIET) > 0
        ? median.multipliedBy(without.toNanos()).dividedBy(QUIET.toNanos())
        : median;
  }

  private static CyclePause missed(Duration aim, int p99, int median) {
    return new CyclePause(aim, andHalf(p99), andHalf(median));
  }

  private static Duration andHalf(int millis) {
    return Duration.ofMillis(millis * 3L / 2);
  }

  @Override
  public String toString() {
    return aim.equals(limit)
        ? "the aim is %d ms".formatted(aim.toMillis())
        : "the aim of %d ms is missed".formatted(aim.toMillis());
  }
}
