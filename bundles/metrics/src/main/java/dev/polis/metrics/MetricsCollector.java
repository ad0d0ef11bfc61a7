package dev.polis.metrics;

import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.List;

/** Reads the metrics of one part of the node. Called at each scrape, on any thread. */
interface MetricsCollector {
  /** Returns the metrics as they are now. */
  List<MetricSnapshot> read();
}
