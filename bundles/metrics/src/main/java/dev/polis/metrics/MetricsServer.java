package dev.polis.metrics;

import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.logtree.Log;
import dev.polis.pki.TlsContexts;
import dev.polis.supervision.Context;
import dev.polis.supervision.RestartRequest;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;

/** Listens with HTTPS on the node's address; each request gets a virtual thread. */
final class MetricsServer {

  /** Lets the system choose how many connections may wait to be accepted. */
  private static final int BACKLOG = 0;

  /**
   * How long a connection may take for its handshake and its request. With the time until the next
   * check this is at most the 10 s that the other listeners of a node grant.
   */
  private static final String REQUEST_SECONDS = "9";

  /** How often the server checks for connections that take longer. */
  private static final String CHECK_MILLISECONDS = "1000";

  static {
    // The JDK's server has no time limit by default and reads one from system properties only. It
    // is the only server of this kind in a node.
    System.setProperty("sun.net.httpserver.maxReqTime", REQUEST_SECONDS);
    System.setProperty("sun.net.httpserver.clockTick", CHECK_MILLISECONDS);
  }

  private final int port;
  private final Value<NetworkStatus> network;
  private final Value<ClusterStatus> cluster;
  private final MetricsAccess access;
  private final Function<Log, HttpHandler> handler;

  /**
   * @param handler makes what answers requests, given the log of this runnable
   */
  MetricsServer(
      int port,
      Value<NetworkStatus> network,
      Value<ClusterStatus> cluster,
      MetricsAccess access,
      Function<Log, HttpHandler> handler) {
    this.port = port;
    this.network = network;
    this.cluster = cluster;
    this.access = access;
    this.handler = handler;
  }

  /** Waits for credentials and an address, then serves until cancelled. */
  void run(Context context) throws InterruptedException, IOException, RestartRequest {
    awaitCredentials();
    try (Watcher<NetworkStatus> watcher = network.watch()) {
      NetworkStatus.Up here =
          (NetworkStatus.Up) watcher.get(status -> status instanceof NetworkStatus.Up);
      try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
        serve(context, here.externalAddress(), threads, watcher);
      }
    }
  }

  private void awaitCredentials() throws InterruptedException {
    try (Watcher<ClusterStatus> watcher = cluster.watch()) {
      watcher.get(status -> status.credentials().isPresent());
    }
  }

  private void serve(
      Context context, InetAddress here, ExecutorService threads, Watcher<NetworkStatus> watcher)
      throws InterruptedException, IOException, RestartRequest {
    HttpsServer server = bind(here);
    try {
      server.setExecutor(threads);
      server.createContext("/", handler.apply(context.log()));
      server.start();
      context
          .log()
          .info(
              "metrics at https://%s:%d/metrics",
              server.getAddress().getAddress().getHostAddress(), server.getAddress().getPort());
      context.healthy();
      watcher.get(status -> !status.equals(new NetworkStatus.Up(here)));
      throw new RestartRequest("the node's address is no longer " + here.getHostAddress());
    } finally {
      server.stop(0);
      threads.shutdownNow();
    }
  }

  private HttpsServer bind(InetAddress here) throws IOException {
    InetSocketAddress address = new InetSocketAddress(here, port);
    HttpsServer server;
    try {
      server = HttpsServer.create(address, BACKLOG);
    } catch (IOException e) {
      throw new IOException(
          "metrics cannot listen at %s:%d: %s; set another port of dev.polis.metrics, or end the process that has it (ss -ltnp)"
              .formatted(here.getHostAddress(), port, e.getMessage()),
          e);
    }
    server.setHttpsConfigurator(
        new HttpsConfigurator(access.context()) {
          @Override
          public void configure(HttpsParameters parameters) {
            parameters.setSSLParameters(TlsContexts.serverParameters());
          }
        });
    return server;
  }
}
