package dev.polis.benchmarks;

import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

/** Holds durations in nanoseconds, sorted. */
final class Latencies {

  private final long[] sorted;

  private Latencies(long[] sorted) {
    this.sorted = sorted;
  }

  static Latencies of(LongStream nanos) {
    return new Latencies(nanos.sorted().toArray());
  }

  static Latencies merge(List<Latencies> parts) {
    return of(parts.stream().flatMapToLong(part -> Arrays.stream(part.sorted)));
  }

  int count() {
    return sorted.length;
  }

  double median() {
    return percentile(50);
  }

  double p99() {
    return percentile(99);
  }

  long most() {
    return sorted[sorted.length - 1];
  }

  private double percentile(double percent) {
    if (sorted.length == 0) {
      throw new IllegalStateException("nothing was measured, so there are no percentiles");
    }
    int index = (int) Math.ceil(percent / 100 * sorted.length) - 1;
    return sorted[Math.max(0, index)];
  }

  /** Returns {@code median (least to most)}, in seconds. */
  String spread() {
    return Report.number(
        "%.2f s (%.2f to %.2f)", median() / 1e9, sorted[0] / 1e9, sorted[sorted.length - 1] / 1e9);
  }
}
