package dev.polis.metrics;

import dev.polis.logtree.LogStatistics;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.List;
import java.util.function.Supplier;

/** Reports the size of the log tree. */
final class LogMetrics implements MetricsCollector {
  private final Supplier<LogStatistics> statistics;

  LogMetrics(Supplier<LogStatistics> statistics) {
    this.statistics = statistics;
  }

  @Override
  public List<MetricSnapshot> read() {
    LogStatistics now = statistics.get();
    return List.of(
        MetricFactory.gauge("polis_log_journals", "Names that have a journal")
            .dataPoint(MetricFactory.gaugePoint(now.journals()))
            .build(),
        MetricFactory.gauge("polis_log_entries", "Entries in all journals")
            .dataPoint(MetricFactory.gaugePoint(now.entries()))
            .build(),
        MetricFactory.gauge("polis_log_bytes", "Estimated memory of these entries")
            .dataPoint(MetricFactory.gaugePoint(now.bytes()))
            .build(),
        MetricFactory.gauge("polis_log_followers", "Readers that wait for new entries")
            .dataPoint(MetricFactory.gaugePoint(now.readers()))
            .build(),
        MetricFactory.counter("polis_log_appended", "Entries ever appended")
            .dataPoint(MetricFactory.counterPoint(now.appended()))
            .build());
  }
}
