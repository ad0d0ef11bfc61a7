package dev.polis.cluster.it;

import java.time.Duration;

/**
 * Says how much longer a swap of an organ may leave calls without an answer. Where the aim is
 * missed, what was measured and a half more is the limit, so that it becomes no larger.
 *
 * @param aim what docs/measurements.md states, at p99
 * @param limit what is asserted at p99, over the hundreds of swaps of the long form
 * @param median what is asserted of the middle one of ten swaps, whose p99 is their largest: one
 *     collection of the heap decides that
 */
record CyclePause(Duration aim, Duration limit, Duration median) {

  private static final Duration SHALLOW = Duration.ofMillis(10);

  /**
   * What the curator's callers waited at most without a swap where the aims were set, at the median
   * (docs/measurements.md). They keep a processor busy, so what a swap computes beside them delays
   * them in proportion to that.
   */
  private static final Duration QUIET = Duration.ofNanos(6_200_000);

  private static final Duration CURATOR = Duration.ofMillis(50);
  private static final Duration DEEP = Duration.ofMillis(250);

  /** Returns the one of an organ. */
  static CyclePause of(String organ) {
    return switch (organ) {
      // A client's connection ends with the organ: a handshake and a page made by cold code.
      case "metrics" -> missed(SHALLOW, 80, 20);
      // The calls of the role server wait while its runs are moved to the successor.
      case "roles" -> missed(SHALLOW, 17, 10);
      // Since signatures are verified anew before code starts: 10.6 ms, on a machine with nothing
      // else.
      case "convergence" -> missed(SHALLOW, 17, 11);
      // Its own callers wait for 43 ms without a swap; the middle of ten added 7 to 19 ms in three
      // runs.
      case "kubernetes" -> new CyclePause(SHALLOW, SHALLOW, andHalf(13));
      case "curator" -> missed(CURATOR, 126, 90);
      case "cluster", "network", "storage", "consensus" -> new CyclePause(DEEP, DEEP, DEEP);
      default -> new CyclePause(SHALLOW, SHALLOW, SHALLOW);
    };
  }

  /**
   * Returns the limit for the middle swap on a machine whose callers wait so long without one: the
   * pause of a shallow organ is work, that of a deep one is a hand-over that calls wait for.
   *
   * @param without what the curator's callers wait at most without a swap
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
