package org.example.kubernetes;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.nio.charset.StandardCharsets;

/** Answers every request with 503 and a message, in the form in which an API server refuses. */
final class StatusHandler implements HttpHandler {

  private final byte[] body;

  StatusHandler(String message) {
    String status =
        """
        {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", \
        "message": "%s", "reason": "ServiceUnavailable", "code": %d}
        """
            .formatted(escaped(message), HttpURLConnection.HTTP_UNAVAILABLE);
    this.body = status.getBytes(StandardCharsets.UTF_8);
  }

  private static String escaped(String text) {
    return text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ");
  }

  @Override
  public void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      exchange.getResponseHeaders().set("Content-Type", "application/json");
      exchange.getResponseHeaders().set("Connection", "close");
      exchange.sendResponseHeaders(HttpURLConnection.HTTP_UNAVAILABLE, body.length);
      exchange.getResponseBody().write(body);
    }
  }
}
