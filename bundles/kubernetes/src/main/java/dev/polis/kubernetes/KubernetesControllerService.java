package dev.polis.kubernetes;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.roles.RolePlugin;
import dev.polis.boot.StopReason;
import dev.polis.event.Watcher;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.kubernetes.control.ControlParts;
import dev.polis.kubernetes.control.ControlPlane;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.rpc.HttpsTask;
import dev.polis.supervision.Context;
import java.io.IOException;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/**
 * Does the work of the role KubernetesController: runs the control plane, and answers Kubernetes
 * clients at the port of the authenticating proxy.
 */
final class KubernetesControllerService implements RolePlugin, AutoCloseable {

  /** The condition of a node that was given no programs of Kubernetes. */
  static final String NO_API_SERVER = "no-api-server";

  private static final String ABSENT =
      "this node has no Kubernetes API server, as it was given no programs of Kubernetes; port %s answers every request with 503";

  private static final String REMEDY =
      "run \"polis provision kubernetes\" and start the node with \"polis up --kubernetes\", or take the role away: polisctl node role remove NODE "
          + ControlPlane.ROLE;

  private final KubernetesSettings settings;
  private final ControlParts parts;
  private final HealthScope health;
  private final ControlPlane plane;

  KubernetesControllerService(KubernetesSettings settings, ControlParts parts) {
    this.settings = settings;
    this.parts = parts;
    this.plane = new ControlPlane(settings, parts);
    // The role server supervises the run of the role, so this organ has no runnables of its own.
    this.health = parts.health().organ("kubernetes", "");
  }

  /** Works until cancelled; ends the programs if the reason of the cancellation ends work. */
  @Override
  public void run(Context context) throws InterruptedException, IOException {
    try (HealthScope role = parts.health().role(ControlPlane.ROLE, "")) {
      context.run("clients", clients());
      if (settings.programs().isBlank()) {
        role.set(
            HealthCondition.degraded(NO_API_SERVER, ABSENT.formatted(settings.port()), REMEDY));
      } else {
        context.run("control-plane", plane::run);
      }
      context.healthy();
      context.awaitCancelled();
    } finally {
      Optional<StopReason> reason = context.stopReason().filter(StopReason::endsWork);
      if (reason.isPresent()) {
        // Also what an earlier run left behind that this one has not adopted.
        plane.end(reason.get() == StopReason.ROLE_REMOVED);
      }
    }
  }

  private HttpsTask<NetworkStatus> clients() {
    return new HttpsTask<>(
            new HttpsTask.Service(
                KubernetesSettings.PID,
                settings.port(),
                "Kubernetes clients are answered at https://%s, with 503",
                this::tls,
                parameters(),
                log -> new KubernetesHandler()),
            this::awaitCredentials,
            parts.network(),
            NetworkStatus::address)
        .keepingItsPort();
  }

  private void awaitCredentials() throws InterruptedException {
    try (Watcher<ClusterStatus> watcher = parts.cluster().watch()) {
      watcher.get(status -> status.credentials().isPresent());
    }
  }

  /** Returns a TLS context that presents the node's newest certificate. */
  private SSLContext tls() {
    return TlsContexts.context(
        new TlsKeys(() -> credentials().map(NodeCredentials::tls)), TlsTrust.anyKey());
  }

  private Optional<NodeCredentials> credentials() {
    return parts.cluster().peek().flatMap(ClusterStatus::credentials);
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
