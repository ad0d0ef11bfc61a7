package dev.polis.metrics;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.event.Watcher;
import dev.polis.pki.TlsContexts;
import dev.polis.supervision.Context;
import dev.polis.supervision.RestartRequest;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Listens on the node's address while it has one; each request has a virtual thread. */
final class MetricsServer {

  /** The system's own length of the queue of connections. */
  private static final int BACKLOG = 0;

  /**
   * What a connection may take for its handshake and its request. With the time until the next look
   * it is at most the 10 s that the other listeners of a node give.
   */
  private static final String REQUEST_SECONDS = "9";

  /** How often the server looks for connections that take longer. */
  private static final String LOOK_MILLISECONDS = "1000";

  static {
    // The JDK's server waits for ever otherwise, and takes this from nowhere else; it is the only
    // one of its kind in a node.
    System.setProperty("sun.net.httpserver.maxReqTime", REQUEST_SECONDS);
    System.setProperty("sun.net.httpserver.clockTick", LOOK_MILLISECONDS);
  }

  private final int port;
  private final Network network;
  private final ClusterManager cluster;
  private final MetricsAccess access;
  private final MetricsScrape scrape;
  private final EtcdPage etcd;

  MetricsServer(
      int port,
      Network network,
      ClusterManager cluster,
      MetricsAccess access,
      MetricsScrape scrape,
      EtcdPage etcd) {
    this.port = port;
    this.network = network;
    this.cluster = cluster;
    this.access = access;
    this.scrape = scrape;
    this.etcd = etcd;
  }

  /** Serves until cancelled. */
  void run(Context context) throws InterruptedException, IOException, RestartRequest {
    awaitCredentials();
    try (Watcher<NetworkStatus> watcher = network.status().watch()) {
      NetworkStatus.Up here =
          (NetworkStatus.Up) watcher.get(status -> status instanceof NetworkStatus.Up);
      try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
        serve(context, here.externalAddress(), threads, watcher);
      }
    }
  }

  private void awaitCredentials() throws InterruptedException {
    try (Watcher<ClusterStatus> watcher = cluster.status().watch()) {
      watcher.get(status -> status.credentials().isPresent());
    }
  }

  private void serve(
      Context context, InetAddress here, ExecutorService threads, Watcher<NetworkStatus> watcher)
      throws InterruptedException, IOException, RestartRequest {
    HttpsServer server = bind(here);
    try {
      server.setExecutor(threads);
      server.createContext(
          "/", new MetricsPages(access, scrape, () -> etcd.fetch(here), context.log()));
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
          "metrics cannot listen at %s:%d: %s; set another port for dev.polis.metrics, or end who has it (ss -ltnp)"
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
