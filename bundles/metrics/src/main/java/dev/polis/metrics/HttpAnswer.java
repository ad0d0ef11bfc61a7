package dev.polis.metrics;

import java.nio.charset.StandardCharsets;

/**
 * Holds one HTTP response. The array is not copied: it is made for one request.
 *
 * @param status of HTTP
 * @param contentType of the body
 * @param body never empty
 */
record HttpAnswer(int status, String contentType, byte[] body) {

  /** Returns a response that is one sentence for people, with a newline after it. */
  static HttpAnswer text(int status, String sentence) {
    return new HttpAnswer(
        status, "text/plain; charset=utf-8", (sentence + "\n").getBytes(StandardCharsets.UTF_8));
  }
}
