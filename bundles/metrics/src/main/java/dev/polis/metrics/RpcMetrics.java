package dev.polis.metrics;

import dev.polis.rpc.RpcStatistics;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/** Reports the calls that the RPC listeners have served. */
final class RpcMetrics implements MetricsCollector {
  private static final List<Double> BOUNDS =
      Stream.concat(RpcStatistics.BUCKETS.stream(), Stream.of(Double.POSITIVE_INFINITY)).toList();

  private final Supplier<RpcStatistics> statistics;

  RpcMetrics(Supplier<RpcStatistics> statistics) {
    this.statistics = statistics;
  }

  @Override
  public List<MetricSnapshot> read() {
    RpcStatistics now = statistics.get();
    return List.of(
        calls(now),
        durations(now),
        active(now),
        counted(
            "polis_rpc_held_calls",
            "Calls that waited for their provider",
            now,
            RpcStatistics.Method::held),
        counted(
            "polis_rpc_drained_calls",
            "Calls in flight when their provider stopped",
            now,
            RpcStatistics.Method::drained),
        MetricFactory.gauge("polis_rpc_holding", "Calls that wait for their provider now")
            .dataPoint(MetricFactory.gaugePoint(now.heldNow()))
            .build(),
        connections(now),
        ports(
            "polis_rpc_connections_refused",
            "Connections that the node closed at once because their source opened too many",
            now,
            RpcStatistics.Port::refused),
        ports(
            "polis_rpc_connections_displaced",
            "Connections of strangers that the node closed to make room for newer ones",
            now,
            RpcStatistics.Port::displaced),
        strangerCalls(now),
        ports(
            "polis_rpc_stranger_calls_turned_away",
            "Calls of strangers that the node refused or ended because there were too many",
            now,
            RpcStatistics.Port::callsTurnedAway));
  }

  private static MetricSnapshot connections(RpcStatistics now) {
    GaugeSnapshot.Builder open =
        MetricFactory.gauge("polis_rpc_connections", "Connections that are open now");
    for (RpcStatistics.Port port : now.ports()) {
      open.dataPoint(
          MetricFactory.gaugePoint(port.members(), "port", port.name(), "of", "members"));
      open.dataPoint(
          MetricFactory.gaugePoint(port.strangers(), "port", port.name(), "of", "strangers"));
    }
    return open.build();
  }

  private static MetricSnapshot strangerCalls(RpcStatistics now) {
    GaugeSnapshot.Builder open =
        MetricFactory.gauge("polis_rpc_stranger_calls", "Calls of strangers that are open now");
    now.ports()
        .forEach(
            port -> open.dataPoint(MetricFactory.gaugePoint(port.calls(), "port", port.name())));
    return open.build();
  }

  private static CounterSnapshot ports(
      String name, String help, RpcStatistics now, ToLongFunction<RpcStatistics.Port> reading) {
    CounterSnapshot.Builder counter = MetricFactory.counter(name, help);
    for (RpcStatistics.Port port : now.ports()) {
      counter.dataPoint(MetricFactory.counterPoint(reading.applyAsLong(port), "port", port.name()));
    }
    return counter.build();
  }

  private static CounterSnapshot calls(RpcStatistics now) {
    CounterSnapshot.Builder calls =
        MetricFactory.counter("polis_rpc_calls", "Finished calls by outcome");
    for (RpcStatistics.Method method : now.methods()) {
      method
          .codes()
          .forEach(
              (code, times) ->
                  calls.dataPoint(
                      MetricFactory.counterPoint(
                          times,
                          "listener",
                          method.listener(),
                          "method",
                          method.method(),
                          "code",
                          code.name())));
    }
    return calls.build();
  }

  private static HistogramSnapshot durations(RpcStatistics now) {
    HistogramSnapshot.Builder durations =
        HistogramSnapshot.builder()
            .name("polis_rpc_call_duration_seconds")
            .help("Time of finished calls, including the wait for a provider");
    for (RpcStatistics.Method method : now.methods()) {
      if (method.calls() > 0) {
        durations.dataPoint(
            HistogramDataPointSnapshot.builder()
                .classicHistogramBuckets(ClassicHistogramBuckets.of(BOUNDS, method.buckets()))
                .sum(method.seconds())
                .labels(labels(method))
                .build());
      }
    }
    return durations.build();
  }

  private static GaugeSnapshot active(RpcStatistics now) {
    GaugeSnapshot.Builder active =
        MetricFactory.gauge("polis_rpc_active_calls", "Calls in progress");
    for (RpcStatistics.Method method : now.methods()) {
      active.dataPoint(
          MetricFactory.gaugePoint(
              method.active(), "listener", method.listener(), "method", method.method()));
    }
    return active.build();
  }

  /** Selects one number of a method's statistics. */
  private interface Reading {
    long of(RpcStatistics.Method method);
  }

  private static CounterSnapshot counted(
      String name, String help, RpcStatistics now, Reading reading) {
    CounterSnapshot.Builder counter = MetricFactory.counter(name, help);
    for (RpcStatistics.Method method : now.methods()) {
      counter.dataPoint(
          MetricFactory.counterPoint(
              reading.of(method), "listener", method.listener(), "method", method.method()));
    }
    return counter.build();
  }

  private static Labels labels(RpcStatistics.Method method) {
    return Labels.of("listener", method.listener(), "method", method.method());
  }
}
