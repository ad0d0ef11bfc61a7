package dev.polis.metrics;

import java.nio.charset.StandardCharsets;

/**
 * An answer. The array is not copied: it is made for one request.
 *
 * @param status of HTTP
 * @param type of the content
 * @param body never empty
 */
record Page(int status, String type, byte[] body) {

  /** A sentence for a person, with a newline after it. */
  static Page text(int status, String sentence) {
    return new Page(
        status, "text/plain; charset=utf-8", (sentence + "\n").getBytes(StandardCharsets.UTF_8));
  }
}
