package dev.polis.kubernetes;

import dev.polis.api.kubeconfig.KubeconfigIssuer;
import dev.polis.api.roles.RolePlugin;
import dev.polis.base.boot.StopReason;
import dev.polis.handover.OrganInstance;
import dev.polis.handover.OrganState;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.kubernetes.control.ControlParts;
import dev.polis.kubernetes.control.ControlPlane;
import dev.polis.kubernetes.proxy.AuthProxy;
import dev.polis.kubernetes.proxy.ControlBackend;
import dev.polis.kubernetes.proxy.ProxyBackend;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.pki.Crl;
import dev.polis.supervision.Context;
import java.io.IOException;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Does the work of the role KubernetesController: runs the control plane, and answers Kubernetes
 * clients at the port of the authenticating proxy.
 */
final class KubernetesControllerService implements RolePlugin, OrganInstance {

  /** The condition of a node without programs of Kubernetes. */
  static final String NO_API_SERVER = "no-api-server";

  private static final String ABSENT =
      "this node has no Kubernetes API server, because it has no programs of Kubernetes; port %s answers every request with 503";

  private static final String NO_PROGRAMS =
      "this node has no Kubernetes API server, because it has no programs of Kubernetes;"
          + " \"polisctl explain KubernetesController\" names the remedy";

  private static final String REMEDY =
      "run \"polis provision kubernetes\" and start the node with \"polis up --kubernetes\", or remove the role: polisctl node role remove NODE "
          + ControlPlane.ROLE;

  private final KubernetesSettings settings;
  private final ControlParts parts;
  private final HealthScope health;
  private final ControlPlane plane;
  private final AuthProxy clients;
  private final KubeconfigIssuer kubeconfigs;
  private final Supplier<Optional<Crl>> revoked;

  /**
   * Creates the service; the role server runs it.
   *
   * @param revoked the cluster's newest revocation list
   * @param before the facts of the instance that runs now
   */
  KubernetesControllerService(
      KubernetesSettings settings,
      ControlParts parts,
      Supplier<Optional<Crl>> revoked,
      OrganState before) {
    this.settings = settings;
    this.parts = parts;
    this.revoked = revoked;
    this.plane = new ControlPlane(settings, parts, before);
    ControlBackend backend = new ControlBackend(plane.access());
    this.clients = clients(backend);
    this.kubeconfigs = new ControlKubeconfig(plane.access());
    // The role server supervises the run of the role, so this organ has no runnables of its own.
    this.health = parts.health().organ("kubernetes", "");
    if (!settings.programs().isBlank()) {
      backend.present().ifPresent(clients::prepare);
    }
  }

  /** Works until it is cancelled; ends the programs if the reason of the cancellation ends work. */
  @Override
  public void run(Context context) throws InterruptedException, IOException {
    try (HealthScope role = parts.health().role(ControlPlane.ROLE, "")) {
      plane.forgetEnded();
      context.run("clients", clients);
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
        // Also ends programs of an earlier run that this run has not adopted.
        plane.end(reason.get() == StopReason.ROLE_REMOVED);
      }
    }
  }

  private AuthProxy clients(ControlBackend backend) {
    return new AuthProxy(
        KubernetesSettings.PID,
        settings.port(),
        parts.cluster(),
        parts.network(),
        revoked,
        settings.programs().isBlank() ? () -> new ProxyBackend.Absent(NO_PROGRAMS) : backend);
  }

  /** Returns the issuer of credentials for developers. */
  KubeconfigIssuer kubeconfigs() {
    return kubeconfigs;
  }

  /** Returns the access to the API server, so that the next instance answers its first request. */
  @Override
  public OrganState facts() {
    return plane.facts();
  }

  /** Gives nothing: the role server ends the run before it begins that of the next instance. */
  @Override
  public OrganState give() {
    return OrganState.NONE;
  }

  @Override
  public void resume(OrganState state) {
    // The role server begins the run again.
  }

  @Override
  public void close(StopReason reason) {
    clients.close();
    health.close();
  }
}
