package dev.polis.metrics;

import com.sun.net.httpserver.HttpHandler;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.logtree.Log;
import dev.polis.pki.TlsContexts;
import dev.polis.rpc.HttpsListener;
import dev.polis.supervision.Context;
import dev.polis.supervision.RestartRequest;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.function.Function;

/** Listens with HTTPS on the node's address; each request gets a virtual thread. */
final class MetricsServer {

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
      serve(context, here.externalAddress(), watcher);
    }
  }

  private void awaitCredentials() throws InterruptedException {
    try (Watcher<ClusterStatus> watcher = cluster.watch()) {
      watcher.get(status -> status.credentials().isPresent());
    }
  }

  private void serve(Context context, InetAddress here, Watcher<NetworkStatus> watcher)
      throws InterruptedException, IOException, RestartRequest {
    try (HttpsListener listener =
        HttpsListener.open(
            MetricsSettings.PID,
            new InetSocketAddress(here, port),
            access.context(),
            TlsContexts.serverParameters(),
            handler.apply(context.log()))) {
      context
          .log()
          .info(
              "metrics at https://%s:%d/metrics",
              listener.address().getAddress().getHostAddress(), listener.address().getPort());
      context.healthy();
      watcher.get(status -> !status.equals(new NetworkStatus.Up(here)));
      throw new RestartRequest("the node's address is no longer " + here.getHostAddress());
    }
  }
}
