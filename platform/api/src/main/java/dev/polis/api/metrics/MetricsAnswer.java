package dev.polis.api.metrics;

/** Holds the answer of an exporter. */
public sealed interface MetricsAnswer {

  /**
   * The page. The array is not copied.
   *
   * @param contentType for the HTTP header, such as {@code text/plain; version=0.0.4}
   * @param body the metrics
   */
  record Page(String contentType, byte[] body) implements MetricsAnswer {}

  /**
   * There are no metrics now.
   *
   * @param reason a text that says why, and what to do
   */
  record Unavailable(String reason) implements MetricsAnswer {}
}
