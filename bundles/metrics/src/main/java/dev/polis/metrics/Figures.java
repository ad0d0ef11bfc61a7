package dev.polis.metrics;

import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;

/** Short ways to the snapshots of the library. */
final class Figures {
  private Figures() {}

  /** A figure that goes up and down. */
  static GaugeSnapshot.Builder gauge(String name, String help) {
    return GaugeSnapshot.builder().name(name).help(help);
  }

  /**
   * A figure that only grows.
   *
   * @param name without the {@code _total} at its end, which is added
   */
  static CounterSnapshot.Builder counter(String name, String help) {
    return CounterSnapshot.builder().name(name).help(help);
  }

  /** A value of a gauge; labels are names and values in turn. */
  static GaugeDataPointSnapshot level(double value, String... labels) {
    return GaugeDataPointSnapshot.builder().value(value).labels(Labels.of(labels)).build();
  }

  /** A value of a counter; labels are names and values in turn. */
  static CounterDataPointSnapshot count(double value, String... labels) {
    return CounterDataPointSnapshot.builder().value(value).labels(Labels.of(labels)).build();
  }

  /** 1 for true, as is the custom. */
  static double flag(boolean is) {
    return is ? 1 : 0;
  }
}
