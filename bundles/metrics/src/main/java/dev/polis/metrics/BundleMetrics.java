package dev.polis.metrics;

import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.osgi.framework.Bundle;

/** Reports the state of each bundle. */
final class BundleMetrics implements MetricsCollector {
  private static final Map<Integer, String> STATES =
      new TreeMap<>(
          Map.of(
              Bundle.INSTALLED, "INSTALLED",
              Bundle.RESOLVED, "RESOLVED",
              Bundle.STARTING, "STARTING",
              Bundle.ACTIVE, "ACTIVE",
              Bundle.STOPPING, "STOPPING"));

  private final Supplier<List<Bundle>> bundles;

  BundleMetrics(Supplier<List<Bundle>> bundles) {
    this.bundles = bundles;
  }

  @Override
  public List<MetricSnapshot> read() {
    GaugeSnapshot.Builder states =
        MetricFactory.gauge(
            "polis_bundle_state", "1 for the state that the bundle is in, 0 for the others");
    for (Bundle bundle : bundles.get()) {
      int now = bundle.getState();
      STATES.forEach(
          (state, name) ->
              states.dataPoint(
                  MetricFactory.gaugePoint(
                      MetricFactory.oneIf(now == state),
                      "id",
                      Long.toString(bundle.getBundleId()),
                      "name",
                      String.valueOf(bundle.getSymbolicName()),
                      "version",
                      bundle.getVersion().toString(),
                      "state",
                      name)));
    }
    return List.of(states.build());
  }
}
