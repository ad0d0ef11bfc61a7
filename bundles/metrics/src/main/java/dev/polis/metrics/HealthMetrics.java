package dev.polis.metrics;

import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthStatus;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.List;
import java.util.Locale;

/** Reports the health of each organ and role, from the health table. */
final class HealthMetrics implements MetricsCollector {
  private final HealthRegistry health;

  HealthMetrics(HealthRegistry health) {
    this.health = health;
  }

  @Override
  public List<MetricSnapshot> read() {
    GaugeSnapshot.Builder statuses =
        MetricFactory.gauge(
            "polis_health_status",
            "Health of the organ or role: 0 UP, 1 DEGRADED, 2 WAITING, 3 DOWN; the code says why");
    for (HealthStatus status : health.all().peek().orElse(List.of())) {
      statuses.dataPoint(
          MetricFactory.gaugePoint(
              status.level().ordinal(),
              "name",
              status.name(),
              "kind",
              status.kind().name().toLowerCase(Locale.ROOT),
              "code",
              status.code()));
    }
    return List.of(statuses.build());
  }
}
