package dev.polis.metrics;

import java.nio.charset.StandardCharsets;

/**
 * Holds one HTTP response, without a copy of the array.
 *
 * @param status the HTTP status
 * @param contentType the content type of the body
 * @param body the body, which is never empty
 */
record HttpAnswer(int status, String contentType, byte[] body) {

  /** Returns a response with one sentence for people, followed by a newline. */
  static HttpAnswer text(int status, String sentence) {
    return new HttpAnswer(
        status, "text/plain; charset=utf-8", (sentence + "\n").getBytes(StandardCharsets.UTF_8));
  }
}
