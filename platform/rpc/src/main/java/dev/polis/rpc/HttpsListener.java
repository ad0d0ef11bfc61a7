package dev.polis.rpc;

import com.sun.net.httpserver.HttpHandler;
import dev.polis.logtree.Log;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/**
 * Serves HTTPS at one address, each request on a virtual thread of its own. For organs that answer
 * clients which speak HTTP/1.1 instead of gRPC. Whoever opens it closes it.
 *
 * <p>The port belongs to the platform. While an organ is replaced, its next instance opens a
 * listener at the same address: from then on it gets all requests, on the same open port, and when
 * it is closed first the one before gets them again. Connections end with the last listener.
 */
public final class HttpsListener implements ListenerTask.Open, AutoCloseable {

  /**
   * How long a connection may take for its handshake and its request. With the time until the next
   * check this is at most the 10 s that the gRPC listeners of a node grant.
   */
  private static final String REQUEST_SECONDS = "9";

  /** After this time a connection without a handshake is closed, at the latest. */
  private static final Duration HANDSHAKE_TIME = Duration.ofSeconds(10);

  /** How often the server checks for connections that take longer. */
  private static final String CHECK_MILLISECONDS = "1000";

  /** More than all clients of a cluster need, and too few to exhaust the memory of a node. */
  private static final String CONNECTIONS = "1024";

  static {
    // The JDK's server has none of these limits by default. It reads them from system properties,
    // once in a process, so all such servers of a node are opened here.
    System.setProperty("sun.net.httpserver.maxReqTime", REQUEST_SECONDS);
    System.setProperty("sun.net.httpserver.clockTick", CHECK_MILLISECONDS);
    System.setProperty("jdk.httpserver.maxConnections", CONNECTIONS);
  }

  private final HttpsPort port;
  private final PortTenant<HttpHandler> tenant;

  private HttpsListener(HttpsPort port, PortTenant<HttpHandler> tenant) {
    this.port = port;
    this.tenant = tenant;
  }

  /**
   * Begins to listen.
   *
   * @param pid the configuration whose key {@code port} chose the port; failures name it
   * @param address where to listen; port 0 for any free one
   * @param context the certificate to present and whom to trust
   * @param parameters the protocols, and whether clients need a certificate
   * @param handler answers all requests, on several threads at a time
   * @param log where handshakes that fail are reported
   * @throws IOException if the port cannot be opened; the message says what to do
   */
  public static HttpsListener open(
      String pid,
      InetSocketAddress address,
      SSLContext context,
      SSLParameters parameters,
      HttpHandler handler,
      Log log)
      throws IOException {
    PortTenant<HttpHandler> tenant =
        new PortTenant<>(context, parameters, handler, new HandshakeLog(log, HANDSHAKE_TIME));
    return new HttpsListener(HttpsPort.join(pid, address, tenant), tenant);
  }

  /** Returns where it listens. */
  @Override
  public InetSocketAddress address() {
    return port.address();
  }

  /** Ends serving; if nobody else serves at the port, it is closed, with all connections. */
  @Override
  public void close() {
    close(Duration.ZERO);
  }

  /**
   * Ends serving, after the requests that were begun, and keeps the port open for the next one.
   *
   * @param keep how long at most; requests wait meanwhile
   */
  @Override
  public void close(Duration keep) {
    port.leave(tenant, keep);
  }
}
