package dev.polis.rpc;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.net.ssl.SSLContext;

/** Keeps one port open for HTTPS with the JDK's server. */
final class HttpsPort extends SharedPort<HttpHandler> {

  /** Lets the system choose how many connections may wait to be accepted. */
  private static final int BACKLOG = 0;

  private final HttpsServer server;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

  private HttpsPort(String pid, HttpsServer server) {
    super(pid);
    this.server = server;
  }

  /**
   * Serves at an address: at the port of the one before, if there is one of the same organ.
   *
   * @throws IOException if the port cannot be opened; the message says what to do
   */
  static HttpsPort join(String pid, InetSocketAddress address, PortTenant<HttpHandler> tenant)
      throws IOException {
    return join(
        HttpsPort.class, pid, address, tenant, () -> new HttpsPort(pid, bind(pid, address)));
  }

  private static HttpsServer bind(String pid, InetSocketAddress address) throws IOException {
    try {
      return HttpsServer.create(address, BACKLOG);
    } catch (IOException e) {
      throw taken(pid, address, e.getMessage(), e);
    }
  }

  @Override
  void start() {
    server.setHttpsConfigurator(
        new HttpsConfigurator(PresentContext.of(awaitTenant().context(), this::awaitContext)) {
          @Override
          public void configure(HttpsParameters connection) {
            WatchedContext.configured(connection.getClientAddress());
            connection.setSSLParameters(awaitTenant().parameters());
          }
        });
    server.setExecutor(threads);
    server.createContext("/", this::handle);
    server.start();
  }

  private SSLContext awaitContext() {
    return awaitTenant().watched(threads);
  }

  private void handle(HttpExchange exchange) throws IOException {
    PortTenant<HttpHandler> tenant = enter();
    try {
      tenant.handler().handle(exchange);
    } finally {
      tenant.leave();
    }
  }

  @Override
  InetSocketAddress address() {
    return server.getAddress();
  }

  @Override
  void stop() {
    server.stop(0);
    threads.shutdownNow();
  }
}
