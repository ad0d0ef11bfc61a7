package dev.polis.metrics;

import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.List;

/** Something that is counted. Asked at each scrape, on any thread. */
interface MetricsSource {
  /** The figures now. */
  List<MetricSnapshot> read();
}
