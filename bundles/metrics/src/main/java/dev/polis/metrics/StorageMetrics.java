package dev.polis.metrics;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.values.Value;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.List;

/** Reports the protection of the data volume. */
final class StorageMetrics implements MetricsCollector {
  private final Value<DataStatus> data;

  StorageMetrics(Value<DataStatus> data) {
    this.data = data;
  }

  @Override
  public List<MetricSnapshot> read() {
    GaugeSnapshot.Builder security =
        MetricFactory.gauge(
            "polis_storage_volume_security",
            "1 for the security that the mounted data volume has, 0 for the others");
    for (StorageSecurity each : StorageSecurity.values()) {
      boolean has =
          data.peek().orElseThrow() instanceof DataStatus.Mounted mounted
              && mounted.security() == each;
      security.dataPoint(
          MetricFactory.gaugePoint(MetricFactory.oneIf(has), "security", each.name()));
    }
    return List.of(security.build());
  }
}
