package dev.polis.rpc;

import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import dev.polis.logtree.Log;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/**
 * Serves HTTPS at one address, each request on a virtual thread of its own. For organs that answer
 * clients which speak HTTP/1.1 instead of gRPC. Whoever opens it closes it, which ends all
 * connections.
 */
public final class HttpsListener implements AutoCloseable {

  /** Lets the system choose how many connections may wait to be accepted. */
  private static final int BACKLOG = 0;

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

  private final HttpsServer server;
  private final ExecutorService threads;

  private HttpsListener(HttpsServer server, ExecutorService threads) {
    this.server = server;
    this.threads = threads;
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
    HttpsServer server = bind(pid, address);
    ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    server.setHttpsConfigurator(
        new HttpsConfigurator(
            WatchedContext.of(context, new HandshakeLog(log, HANDSHAKE_TIME), threads)) {
          @Override
          public void configure(HttpsParameters connection) {
            WatchedContext.configured(connection.getClientAddress());
            connection.setSSLParameters(parameters);
          }
        });
    server.setExecutor(threads);
    server.createContext("/", handler);
    server.start();
    return new HttpsListener(server, threads);
  }

  private static HttpsServer bind(String pid, InetSocketAddress address) throws IOException {
    try {
      return HttpsServer.create(address, BACKLOG);
    } catch (IOException e) {
      throw new IOException(
          "%s cannot listen at %s:%d: %s; set another port (%s.port), or end the process that has it (ss -ltnp)"
              .formatted(
                  pid,
                  address.getAddress().getHostAddress(),
                  address.getPort(),
                  e.getMessage(),
                  pid),
          e);
    }
  }

  /** Returns where it listens. */
  public InetSocketAddress address() {
    return server.getAddress();
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
