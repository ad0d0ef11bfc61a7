package dev.polis.metrics;

import dev.polis.api.metrics.MetricsAnswer;
import dev.polis.api.metrics.MetricsExporter;
import java.net.HttpURLConnection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/** Keeps the exporters that organs and roles have registered. Thread-safe. */
final class MetricsExporters {

  private final List<MetricsExporter> exporters = new CopyOnWriteArrayList<>();

  void add(MetricsExporter exporter) {
    exporters.add(exporter);
  }

  void remove(MetricsExporter exporter) {
    exporters.remove(exporter);
  }

  /** Returns the names of the exporters, sorted. */
  List<String> names() {
    return exporters.stream().map(MetricsExporter::exporterName).distinct().sorted().toList();
  }

  /** Reads an exporter's page; empty if there is no exporter of this name. */
  Optional<HttpAnswer> scrape(String name) throws InterruptedException {
    for (MetricsExporter exporter : exporters) {
      if (exporter.exporterName().equals(name)) {
        return Optional.of(answer(exporter.scrape()));
      }
    }
    return Optional.empty();
  }

  private static HttpAnswer answer(MetricsAnswer answer) {
    return switch (answer) {
      case MetricsAnswer.Page(String type, byte[] body) ->
          new HttpAnswer(HttpURLConnection.HTTP_OK, type, body);
      case MetricsAnswer.Unavailable(String reason) ->
          HttpAnswer.text(HttpURLConnection.HTTP_UNAVAILABLE, reason);
    };
  }
}
