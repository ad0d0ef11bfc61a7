package dev.polis.kubernetes;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.roles.RolePlugin;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.rpc.HttpsTask;
import dev.polis.supervision.Context;
import dev.polis.supervision.RestartRequest;
import java.io.IOException;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/**
 * Does the work of the role KubernetesController: answers Kubernetes clients at the port where the
 * API server will be.
 */
final class KubernetesService implements RolePlugin, AutoCloseable {

  static final String ROLE = "KubernetesController";

  /** The condition that holds until this node has a Kubernetes API server. */
  static final String NO_API_SERVER = "no-api-server";

  private static final String ABSENT =
      "this version of Polis has no Kubernetes API server; port %s answers every request with 503";

  private static final String REMEDY =
      "nothing, or take the role away: polisctl node role remove NODE " + ROLE;

  private final KubernetesSettings settings;
  private final Value<ClusterStatus> cluster;
  private final Value<NetworkStatus> network;
  private final HealthRegistry registry;
  private final HealthScope health;

  KubernetesService(
      KubernetesSettings settings,
      Value<ClusterStatus> cluster,
      Value<NetworkStatus> network,
      HealthRegistry health) {
    this.settings = settings;
    this.cluster = cluster;
    this.network = network;
    this.registry = health;
    // The role server supervises the run of the role, so this organ has no runnables of its own.
    this.health = health.organ("kubernetes", "");
  }

  /** Waits for credentials and an address, then serves until cancelled. */
  @Override
  public void run(Context context) throws InterruptedException, IOException, RestartRequest {
    try (HealthScope role = registry.role(ROLE, "")) {
      role.set(HealthCondition.degraded(NO_API_SERVER, ABSENT.formatted(settings.port()), REMEDY));
      new HttpsTask<>(
              new HttpsTask.Service(
                  KubernetesSettings.PID,
                  settings.port(),
                  "Kubernetes clients are answered at https://%s, with 503 as there is no API server",
                  this::tls,
                  parameters(),
                  log -> new KubernetesHandler()),
              this::awaitCredentials,
              network,
              NetworkStatus::address)
          .keepingItsPort()
          .run(context);
    }
  }

  private void awaitCredentials() throws InterruptedException {
    try (Watcher<ClusterStatus> watcher = cluster.watch()) {
      watcher.get(status -> status.credentials().isPresent());
    }
  }

  /** Returns a TLS context that presents the node's newest certificate. */
  private SSLContext tls() {
    return TlsContexts.context(
        new TlsKeys(() -> credentials().map(NodeCredentials::tls)), TlsTrust.anyKey());
  }

  private Optional<NodeCredentials> credentials() {
    return cluster.peek().flatMap(ClusterStatus::credentials);
  }

  /**
   * Returns parameters that ask for no client certificate: the answer is the same for everybody.
   */
  private static SSLParameters parameters() {
    SSLParameters parameters = new SSLParameters();
    parameters.setProtocols(TlsContexts.PROTOCOLS.toArray(String[]::new));
    return parameters;
  }

  @Override
  public void close() {
    health.close();
  }
}
