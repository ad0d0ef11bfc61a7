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
import java.util.function.Supplier;
import javax.net.ssl.SSLPeerUnverifiedException;

/** Finds the page for a request, and answers everything else in words. */
final class MetricsPages implements HttpHandler {
  private static final int NO_BODY = -1;

  private final MetricsAccess access;
  private final MetricsScrape scrape;
  private final Supplier<Page> etcd;
  private final Log log;

  MetricsPages(MetricsAccess access, MetricsScrape scrape, Supplier<Page> etcd, Log log) {
    this.access = access;
    this.scrape = scrape;
    this.etcd = etcd;
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
   * Reads what nobody asked for before the answer is sent. Otherwise the JDK's server reads it
   * afterwards, and with it, out of TLS' buffer, the begin of the next request on this connection,
   * which it then overlooks. However long the body is, it costs its sender, a member of the
   * cluster, more than this node.
   */
  private static void readBody(HttpExchange exchange) throws IOException {
    exchange.getRequestBody().transferTo(OutputStream.nullOutputStream());
  }

  /** The JDK's server would hang up without a word if anything got out of here. */
  private Page answer(HttpsExchange exchange) {
    try {
      return page(exchange);
    } catch (RuntimeException e) {
      log.error("%s failed: %s", exchange.getRequestURI(), e.getMessage(), e);
      return Page.text(
          HttpURLConnection.HTTP_INTERNAL_ERROR, "internal error; see the log of " + log.dn());
    }
  }

  private Page page(HttpsExchange exchange) {
    try {
      access.verify((X509Certificate) exchange.getSSLSession().getPeerCertificates()[0]);
    } catch (SSLPeerUnverifiedException | PkiException e) {
      return Page.text(HttpURLConnection.HTTP_FORBIDDEN, e.getMessage());
    }
    String method = exchange.getRequestMethod();
    if (!method.equals("GET") && !method.equals("HEAD")) {
      exchange.getResponseHeaders().set("Allow", "GET, HEAD");
      return Page.text(
          HttpURLConnection.HTTP_BAD_METHOD, method + " changes nothing here; use GET");
    }
    String path = exchange.getRequestURI().getPath();
    return switch (path) {
      case "/metrics" -> scrape.page();
      case "/metrics/etcd" -> etcd.get();
      default ->
          Page.text(
              HttpURLConnection.HTTP_NOT_FOUND,
              "there is no page %s; there are /metrics and /metrics/etcd".formatted(path));
    };
  }

  private static void send(HttpExchange exchange, Page page) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", page.type());
    if (exchange.getRequestMethod().equals("HEAD")) {
      exchange.sendResponseHeaders(page.status(), NO_BODY);
      return;
    }
    exchange.sendResponseHeaders(page.status(), page.body().length);
    try (OutputStream out = exchange.getResponseBody()) {
      out.write(page.body());
    }
  }
}
