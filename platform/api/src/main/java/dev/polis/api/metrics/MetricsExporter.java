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
   * changes. Of two exporters with one name, the one that was registered first is asked.
   */
  String exporterName();

  /**
   * Reads the page now. Called on any thread, for each request. It answers within 5 s, which is
   * half of what Prometheus waits by default, so that its reader learns the reason.
   *
   * @throws InterruptedException if interrupted while waiting for the program
   */
  MetricsAnswer scrape() throws InterruptedException;
}
