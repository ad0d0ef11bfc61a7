package dev.polis.metrics;

import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.List;

/** Reads the metrics of one part of the node, at each scrape and on any thread. */
interface MetricsCollector {
  /** Returns the present metrics. */
  List<MetricSnapshot> read();
}
