package dev.polis.metrics;

import dev.polis.api.network.ClockStatus;
import dev.polis.base.values.Value;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.List;

/** Reports whether the machine's clock follows a time server, and by how much it differed. */
final class ClockMetrics implements MetricsCollector {
  private static final double NANOS = 1e9;

  private final Value<ClockStatus> clock;

  ClockMetrics(Value<ClockStatus> clock) {
    this.clock = clock;
  }

  @Override
  public List<MetricSnapshot> read() {
    return switch (clock.peek().orElseThrow()) {
      case ClockStatus.NotKept _ -> List.of();
      case ClockStatus.Searching _ -> List.of(synchronised(false));
      case ClockStatus.Synchronised now ->
          List.of(
              synchronised(true),
              MetricFactory.gauge(
                      "polis_clock_offset_seconds",
                      "by how much the machine's clock was ahead of its time server")
                  .dataPoint(MetricFactory.gaugePoint(now.offset().toNanos() / NANOS))
                  .build());
    };
  }

  private static MetricSnapshot synchronised(boolean is) {
    return MetricFactory.gauge(
            "polis_clock_synchronised",
            "1 if the machine's clock follows a time server, 0 if it follows none; missing where the node does not keep the clock")
        .dataPoint(MetricFactory.gaugePoint(MetricFactory.oneIf(is)))
        .build();
  }
}
