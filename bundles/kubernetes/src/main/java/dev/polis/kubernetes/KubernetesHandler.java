package dev.polis.kubernetes;

import com.google.gson.JsonObject;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.nio.charset.StandardCharsets;

/** Answers every request with a Kubernetes Status that says why there is no API server. */
final class KubernetesHandler implements HttpHandler {

  /** What the JDK's server takes for "no body". */
  private static final int NO_BODY = -1;

  /** More than the largest object that an API server takes, 3 MiB; it costs time and no memory. */
  private static final long MOST_OF_BODY = 4 << 20;

  private static final String REASON =
      "there is no Kubernetes API server at this node yet; \"polisctl explain KubernetesController\" says why";

  @Override
  public void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      // No Retry-After: Kubernetes clients would repeat the request by themselves, which does not
      // help.
      exchange.getResponseHeaders().set("Content-Type", "application/json");
      // What is left of a longer body would be taken for the next request.
      exchange.getResponseHeaders().set("Connection", "close");
      // A client that is still sending when the connection ends never reads the answer.
      exchange.getRequestBody().skip(MOST_OF_BODY);
      byte[] body = status().toString().getBytes(StandardCharsets.UTF_8);
      if (exchange.getRequestMethod().equals("HEAD")) {
        exchange.sendResponseHeaders(HttpURLConnection.HTTP_UNAVAILABLE, NO_BODY);
        return;
      }
      exchange.sendResponseHeaders(HttpURLConnection.HTTP_UNAVAILABLE, body.length);
      exchange.getResponseBody().write(body);
    }
  }

  /** Returns the message in the form in which an API server refuses: {@code v1.Status}. */
  private static JsonObject status() {
    JsonObject status = new JsonObject();
    status.addProperty("kind", "Status");
    status.addProperty("apiVersion", "v1");
    status.add("metadata", new JsonObject());
    status.addProperty("status", "Failure");
    status.addProperty("message", REASON);
    status.addProperty("reason", "ServiceUnavailable");
    status.addProperty("code", HttpURLConnection.HTTP_UNAVAILABLE);
    return status;
  }
}
