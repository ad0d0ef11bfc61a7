package dev.polis.metrics;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpsExchange;
import dev.polis.logtree.Log;
import dev.polis.pki.PkiException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLPeerUnverifiedException;

/** Answers requests with the page of the path, or with the reason why there is none. */
final class MetricsHandler implements HttpHandler {
  /** The length with which the JDK's server sends no body. */
  private static final int NO_BODY = -1;

  private static final String EXPORTERS = "/metrics/";
  private static final String DISCOVERY = "/discovery";

  private final MetricsAccess access;
  private final MetricsRegistry registry;
  private final MetricsExporters exporters;
  private final NodeDiscovery discovery;
  private final Log log;

  MetricsHandler(
      MetricsAccess access,
      MetricsRegistry registry,
      MetricsExporters exporters,
      NodeDiscovery discovery,
      Log log) {
    this.access = access;
    this.registry = registry;
    this.exporters = exporters;
    this.discovery = discovery;
    this.log = log;
  }

  @Override
  public void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      readBody(exchange);
      send(exchange, answer((HttpsExchange) exchange));
    }
  }

  /**
   * Reads the request's body, which no page needs, before the answer. Otherwise the JDK's server
   * reads it afterwards and loses the beginning of the next request, which may be in the same TLS
   * record. A long body costs its sender, a member of the cluster, more than this node.
   */
  private static void readBody(HttpExchange exchange) throws IOException {
    exchange.getRequestBody().transferTo(OutputStream.nullOutputStream());
  }

  /** Answers a failure with a status, since the JDK's server would only close the connection. */
  private HttpAnswer answer(HttpsExchange exchange) {
    try {
      return route(exchange);
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
      return HttpAnswer.text(HttpURLConnection.HTTP_UNAVAILABLE, "the metrics organ is stopped");
    } catch (RuntimeException e) {
      log.error("%s failed: %s", exchange.getRequestURI(), e.getMessage(), e);
      return HttpAnswer.text(
          HttpURLConnection.HTTP_INTERNAL_ERROR, "internal error; see the log of " + log.dn());
    }
  }

  private HttpAnswer route(HttpsExchange exchange) throws InterruptedException {
    try {
      access.verify((X509Certificate) exchange.getSSLSession().getPeerCertificates()[0]);
    } catch (SSLPeerUnverifiedException | PkiException e) {
      return HttpAnswer.text(HttpURLConnection.HTTP_FORBIDDEN, e.getMessage());
    }
    String method = exchange.getRequestMethod();
    if (!method.equals("GET") && !method.equals("HEAD")) {
      exchange.getResponseHeaders().set("Allow", "GET, HEAD");
      return HttpAnswer.text(
          HttpURLConnection.HTTP_BAD_METHOD, method + " changes nothing here; use GET");
    }
    String path = exchange.getRequestURI().getPath();
    return switch (path) {
      case "/metrics", "/metrics/core" -> registry.scrape();
      case String other when other.startsWith(EXPORTERS) ->
          exporters.scrape(other.substring(EXPORTERS.length())).orElseGet(() -> unknown(other));
      case DISCOVERY -> discovery.answer();
      case String other -> unknown(other);
    };
  }

  private HttpAnswer unknown(String path) {
    List<String> known = new ArrayList<>(List.of("/metrics", "/metrics/core"));
    exporters.names().forEach(name -> known.add(EXPORTERS + name));
    known.add(DISCOVERY);
    return HttpAnswer.text(
        HttpURLConnection.HTTP_NOT_FOUND,
        "there is no page %s; the pages are %s".formatted(path, String.join(", ", known)));
  }

  private static void send(HttpExchange exchange, HttpAnswer answer) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", answer.contentType());
    if (exchange.getRequestMethod().equals("HEAD")) {
      exchange.sendResponseHeaders(answer.status(), NO_BODY);
      return;
    }
    exchange.sendResponseHeaders(answer.status(), answer.body().length);
    try (OutputStream out = exchange.getResponseBody()) {
      out.write(answer.body());
    }
  }
}
