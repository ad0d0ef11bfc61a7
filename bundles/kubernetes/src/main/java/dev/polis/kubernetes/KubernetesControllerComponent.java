package dev.polis.kubernetes;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.kubeconfig.KubeconfigIssuer;
import dev.polis.api.network.Network;
import dev.polis.api.roles.RolePlugin;
import dev.polis.api.storage.Storage;
import dev.polis.handover.HandOvers;
import dev.polis.health.HealthRegistry;
import dev.polis.kubernetes.control.ControlParts;
import dev.polis.kubernetes.control.ControlPlane;
import dev.polis.kubernetes.settings.KubernetesConfig;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.process.ProcessManager;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.resolver.LeaderResolver;
import dev.polis.supervision.Context;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the role KubernetesController. */
@Component(
    service = {RolePlugin.class, KubeconfigIssuer.class},
    immediate = true,
    configurationPid = KubernetesSettings.PID,
    property = RolePlugin.ROLE + "=" + ControlPlane.ROLE)
@Designate(ocd = KubernetesConfig.class)
public final class KubernetesControllerComponent implements RolePlugin, KubeconfigIssuer {

  private final HandOvers.Membership<KubernetesControllerService> membership;
  private final KubernetesControllerService service;

  /** Starts the role's service; Declarative Services call this. */
  @Activate
  public KubernetesControllerComponent(
      KubernetesConfig config,
      @Reference ClusterManager cluster,
      @Reference Network network,
      @Reference Storage storage,
      @Reference ProcessManager processes,
      @Reference RpcHost rpc,
      @Reference HealthRegistry health,
      @Reference HandOvers handOvers) {
    KubernetesSettings settings = KubernetesSettings.of(config);
    ControlParts parts =
        new ControlParts(
            cluster.status(),
            network.status(),
            storage::folder,
            processes,
            health,
            () -> curator(rpc));
    this.membership =
        handOvers.join(
            "kubernetes",
            predecessor ->
                new KubernetesControllerService(
                    settings, parts, rpc::revoked, predecessor.facts()));
    this.service = membership.instance();
  }

  private static Optional<InetSocketAddress> curator(RpcHost rpc) {
    return rpc.listeners().peek().orElseThrow().stream()
        .filter(listener -> listener.name().equals(RpcHost.CURATOR) && listener.open())
        .map(listener -> LeaderResolver.address(listener.address()))
        .findFirst();
  }

  @Override
  public void run(Context context) throws Exception {
    service.run(context);
  }

  @Override
  public String issue(String user, List<String> groups)
      throws TimeoutException, InterruptedException {
    return service.kubeconfigs().issue(user, groups);
  }

  @Deactivate
  void deactivate() {
    membership.leave();
  }
}
