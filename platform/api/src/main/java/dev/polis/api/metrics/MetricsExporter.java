package dev.polis.api.metrics;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Provides one page of metrics in Prometheus' text format. Register it as an OSGi service; the node
 * then serves the page at {@code /metrics/NAME} to members of its cluster.
 */
@ConsumerType
public interface MetricsExporter {

  /**
   * Returns the last part of the page's path: lower-case letters, digits and dashes. It never
   * changes. If two exporters have one name, the node uses the one that was registered first.
   */
  String exporterName();

  /**
   * Reads the page; called on any thread, for each request. It answers within 5 s, half of
   * Prometheus' default limit, so that Prometheus gets the reason of a failure.
   *
   * @throws InterruptedException if interrupted while waiting for the program
   */
  MetricsAnswer scrape() throws InterruptedException;
}
