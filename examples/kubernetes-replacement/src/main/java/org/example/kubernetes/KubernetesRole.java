package org.example.kubernetes;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.rpc.HttpsTask;
import dev.polis.supervision.Context;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/** Does the work of the role KubernetesController: serves HTTPS at one port of the node. */
final class KubernetesRole {

  static final String NAME = "KubernetesController";

  private final int port;
  private final String message;
  private final Value<ClusterStatus> cluster;
  private final Value<NetworkStatus> network;

  KubernetesRole(
      int port, String message, Value<ClusterStatus> cluster, Value<NetworkStatus> network) {
    this.port = port;
    this.message = message;
    this.cluster = cluster;
    this.network = network;
  }

  /** Waits for credentials and an address, then serves until cancelled. */
  void run(Context context) throws Exception {
    HttpsTask.Service service =
        new HttpsTask.Service(
            KubernetesComponent.PID,
            port,
            "Kubernetes clients are answered at https://%s",
            this::tls,
            parameters(),
            log -> new StatusHandler(message));
    new HttpsTask<>(service, this::awaitCredentials, network, NetworkStatus::address).run(context);
  }

  private void awaitCredentials() throws InterruptedException {
    try (Watcher<ClusterStatus> watcher = cluster.watch()) {
      watcher.get(status -> status.credentials().isPresent());
    }
  }

  /** Returns a TLS context that presents the node's newest certificate. */
  private SSLContext tls() {
    return TlsContexts.context(
        new TlsKeys(
            () -> cluster.peek().flatMap(ClusterStatus::credentials).map(NodeCredentials::tls)),
        TlsTrust.anyKey());
  }

  private static SSLParameters parameters() {
    SSLParameters parameters = new SSLParameters();
    parameters.setProtocols(TlsContexts.PROTOCOLS.toArray(String[]::new));
    return parameters;
  }
}
