package dev.polis.metrics;

import io.prometheus.metrics.config.EscapingScheme;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.instrumentation.jvm.JvmBufferPoolMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmClassLoadingMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmCompilationMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmGarbageCollectorMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmMemoryMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmNativeMemoryMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmRuntimeInfoMetric;
import io.prometheus.metrics.instrumentation.jvm.JvmThreadsMetrics;
import io.prometheus.metrics.instrumentation.jvm.ProcessMetrics;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Collectors;

/** Collects the metrics of the node and the JVM, and writes them in Prometheus' text format. */
final class MetricsRegistry {
  private static final String REFERENCE_STATE = "monogon_supervisor_dn_state_total";

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final PrometheusTextFormatWriter writer = PrometheusTextFormatWriter.create();

  MetricsRegistry(List<MetricsCollector> collectors) {
    registerJvm();
    for (MetricsCollector collector : collectors) {
      MultiCollector adapter = () -> new MetricSnapshots(collector.read());
      registry.register(adapter);
    }
  }

  /**
   * Registers all JVM metrics of the library except the allocation rates of memory pools. These
   * would add a permanent listener to the JVM, which would keep this bundle's classes in memory for
   * ever.
   */
  private void registerJvm() {
    JvmBufferPoolMetrics.builder().register(registry);
    JvmClassLoadingMetrics.builder().register(registry);
    JvmCompilationMetrics.builder().register(registry);
    JvmGarbageCollectorMetrics.builder().register(registry);
    JvmMemoryMetrics.builder().register(registry);
    JvmNativeMemoryMetrics.builder().register(registry);
    JvmRuntimeInfoMetric.builder().register(registry);
    JvmThreadsMetrics.builder().register(registry);
    ProcessMetrics.builder().register(registry);
  }

  /** Returns a page with the present metrics. */
  HttpAnswer scrape() {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try {
      writer.write(out, registry.scrape(), EscapingScheme.UNDERSCORE_ESCAPING);
    } catch (IOException e) {
      throw new UncheckedIOException("memory does not fail to be written to", e);
    }
    String own = out.toString(StandardCharsets.UTF_8);
    return new HttpAnswer(
        HttpURLConnection.HTTP_OK,
        writer.getContentType(),
        (own + underReferenceName(own)).getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Repeats the states of runnables under the name in the reference system's dashboards. It copies
   * the lines, so that both names show one moment. The library cannot write them, since it refuses
   * a gauge whose name ends in {@code _total}.
   */
  private static String underReferenceName(String own) {
    return own.lines()
        .filter(line -> line.startsWith(SupervisionMetrics.STATE + "{"))
        .map(line -> REFERENCE_STATE + line.substring(SupervisionMetrics.STATE.length()))
        .collect(
            Collectors.joining(
                "\n",
                "# HELP %1$s Same as %2$s\n# TYPE %1$s gauge\n"
                    .formatted(REFERENCE_STATE, SupervisionMetrics.STATE),
                "\n"));
  }
}
