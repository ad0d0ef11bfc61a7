package dev.polis.metrics;

import dev.polis.logtree.LogStatistics;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.List;
import java.util.function.Supplier;

/** What the log tree holds. */
final class LogMetrics implements MetricsSource {
  private final Supplier<LogStatistics> statistics;

  LogMetrics(Supplier<LogStatistics> statistics) {
    this.statistics = statistics;
  }

  @Override
  public List<MetricSnapshot> read() {
    LogStatistics now = statistics.get();
    return List.of(
        Figures.gauge("polis_log_journals", "Names that have a journal")
            .dataPoint(Figures.level(now.journals()))
            .build(),
        Figures.gauge("polis_log_entries", "Entries in all journals")
            .dataPoint(Figures.level(now.entries()))
            .build(),
        Figures.gauge("polis_log_bytes", "Estimated memory of these entries")
            .dataPoint(Figures.level(now.bytes()))
            .build(),
        Figures.gauge("polis_log_followers", "Readers that wait for new entries")
            .dataPoint(Figures.level(now.readers()))
            .build(),
        Figures.counter("polis_log_appended", "Entries ever appended")
            .dataPoint(Figures.count(now.appended()))
            .build());
  }
}
