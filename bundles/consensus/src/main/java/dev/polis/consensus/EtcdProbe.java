package dev.polis.consensus;

import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URI;
import java.nio.charset.StandardCharsets;

/** Asks etcd for its health over plain HTTP, where it also serves its metrics. */
final class EtcdProbe {

  // A read through the quorum is part of the answer; etcd itself gives up after 5 s.
  private static final int PATIENCE_MILLIS = 6000;

  private EtcdProbe() {}

  /**
   * Asks once.
   *
   * @return empty if it is healthy, else what is wrong, in words
   */
  static String complaint(String metricsUrl) {
    try {
      HttpURLConnection connection =
          (HttpURLConnection)
              URI.create(metricsUrl + "/health").toURL().openConnection(Proxy.NO_PROXY);
      connection.setConnectTimeout(PATIENCE_MILLIS);
      connection.setReadTimeout(PATIENCE_MILLIS);
      try (InputStream body = body(connection)) {
        String answer = new String(body.readAllBytes(), StandardCharsets.UTF_8).strip();
        return answer.contains("\"health\":\"true\"") ? "" : "it says " + answer;
      } finally {
        connection.disconnect();
      }
    } catch (IOException notYet) {
      return metricsUrl + " does not answer: " + notYet.getMessage();
    }
  }

  private static InputStream body(HttpURLConnection connection) throws IOException {
    return connection.getResponseCode() == HttpURLConnection.HTTP_OK
        ? connection.getInputStream()
        : connection.getErrorStream();
  }
}
