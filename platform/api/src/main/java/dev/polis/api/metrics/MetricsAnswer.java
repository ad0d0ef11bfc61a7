package dev.polis.api.metrics;

/** Holds the answer of an exporter. */
public sealed interface MetricsAnswer {

  /**
   * Holds the page, without a copy of the array.
   *
   * @param contentType for the HTTP header, such as {@code text/plain; version=0.0.4}
   * @param body the metrics
   */
  record Page(String contentType, byte[] body) implements MetricsAnswer {}

  /**
   * Means that there are no metrics now.
   *
   * @param reason a text with the reason and the remedy
   */
  record Unavailable(String reason) implements MetricsAnswer {}
}
