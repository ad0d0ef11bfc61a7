package dev.polis.metrics;

import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;

/** Builds gauges and counters of the Prometheus library. */
final class MetricFactory {
  private MetricFactory() {}

  /** Starts a gauge, a value that rises and falls. */
  static GaugeSnapshot.Builder gauge(String name, String help) {
    return GaugeSnapshot.builder().name(name).help(help);
  }

  /**
   * Starts a counter, a value that only grows.
   *
   * @param name the name without {@code _total}, which the library appends
   */
  static CounterSnapshot.Builder counter(String name, String help) {
    return CounterSnapshot.builder().name(name).help(help);
  }

  /**
   * Returns one value of a gauge.
   *
   * @param labels the names and values in turn
   */
  static GaugeDataPointSnapshot gaugePoint(double value, String... labels) {
    return GaugeDataPointSnapshot.builder().value(value).labels(Labels.of(labels)).build();
  }

  /**
   * Returns one value of a counter.
   *
   * @param labels the names and values in turn
   */
  static CounterDataPointSnapshot counterPoint(double value, String... labels) {
    return CounterDataPointSnapshot.builder().value(value).labels(Labels.of(labels)).build();
  }

  /** Returns 1 for true and 0 for false, as Prometheus has no truth values. */
  static double oneIf(boolean is) {
    return is ? 1 : 0;
  }
}
