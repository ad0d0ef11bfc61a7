package dev.polis.kubernetes.proxy;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Refuses a request in the API server's form: {@code v1.Status}. */
final class ProxyRefusal extends Exception {

  private static final long serialVersionUID = 1L;

  private final int code;
  private final String reason;
  private final String retryAfter;

  private ProxyRefusal(int code, String reason, String message, String retryAfter) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.retryAfter = retryAfter;
  }

  /** Refuses a client that has not proved its identity. */
  static ProxyRefusal unauthorized(String message) {
    return new ProxyRefusal(HttpCodes.UNAUTHORIZED, "Unauthorized", message, "");
  }

  /**
   * Refuses an unreadable certificate of a client.
   *
   * @param unforeseen a failure that no check expects
   */
  static ProxyRefusal unreadable(String message, RuntimeException unforeseen) {
    ProxyRefusal refusal = unauthorized(message);
    refusal.initCause(unforeseen);
    return refusal;
  }

  /** Reports that there is no API server; a retry does not help. */
  static ProxyRefusal absent(String message) {
    return new ProxyRefusal(HttpCodes.UNAVAILABLE, "ServiceUnavailable", message, "");
  }

  /**
   * Reports that the proxy did not reach the API server, so that the request had no effect.
   *
   * @param again the time after which clients automatically repeat the request
   */
  static ProxyRefusal unreached(String message, Duration again) {
    return new ProxyRefusal(
        HttpCodes.UNAVAILABLE, "ServiceUnavailable", message, Long.toString(again.toSeconds()));
  }

  /**
   * Reports that the API server ended the connection, so that the effects of the request are
   * unknown.
   */
  static ProxyRefusal brokenOff(String message) {
    return new ProxyRefusal(HttpCodes.BAD_GATEWAY, "InternalError", message, "");
  }

  /** Reports that the API server did not answer in time. */
  static ProxyRefusal late(String message) {
    return new ProxyRefusal(HttpCodes.GATEWAY_TIMEOUT, "Timeout", message, "");
  }

  /** Reports the rule of HTTP that the request breaks. */
  static ProxyRefusal of(HttpSyntaxException wrong) {
    return new ProxyRefusal(wrong.code(), "BadRequest", wrong.getMessage(), "");
  }

  int code() {
    return code;
  }

  /**
   * Writes the whole answer; the caller then closes the connection.
   *
   * @param withBody false for the answer to HEAD
   */
  void write(OutputStream out, boolean withBody) throws IOException {
    byte[] body = status().toString().getBytes(StandardCharsets.UTF_8);
    StringBuilder head = new StringBuilder("HTTP/1.1 " + code + " " + reason + "\r\n");
    head.append("Content-Type: application/json\r\nConnection: close\r\n");
    head.append("Content-Length: ").append(body.length).append("\r\n");
    if (!retryAfter.isEmpty()) {
      head.append("Retry-After: ").append(retryAfter).append("\r\n");
    }
    out.write(head.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1));
    if (withBody) {
      out.write(body);
    }
    out.flush();
  }

  private JsonObject status() {
    JsonObject status = new JsonObject();
    status.addProperty("kind", "Status");
    status.addProperty("apiVersion", "v1");
    status.add("metadata", new JsonObject());
    status.addProperty("status", "Failure");
    status.addProperty("message", getMessage());
    status.addProperty("reason", reason);
    status.addProperty("code", code);
    return status;
  }
}
