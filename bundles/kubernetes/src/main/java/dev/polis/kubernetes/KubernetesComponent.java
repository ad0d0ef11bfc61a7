package dev.polis.kubernetes;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.network.Network;
import dev.polis.api.roles.RolePlugin;
import dev.polis.health.HealthRegistry;
import dev.polis.kubernetes.settings.KubernetesConfig;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.supervision.Context;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the Kubernetes organ. */
@Component(
    service = RolePlugin.class,
    immediate = true,
    configurationPid = KubernetesSettings.PID,
    property = RolePlugin.ROLE + "=" + KubernetesService.ROLE)
@Designate(ocd = KubernetesConfig.class)
public final class KubernetesComponent implements RolePlugin {

  private final KubernetesService service;

  /** Called by Declarative Services. */
  @Activate
  public KubernetesComponent(
      KubernetesConfig config,
      @Reference ClusterManager cluster,
      @Reference Network network,
      @Reference HealthRegistry health) {
    this.service =
        new KubernetesService(
            KubernetesSettings.of(config), cluster.status(), network.status(), health);
  }

  @Override
  public void run(Context context) throws Exception {
    service.run(context);
  }

  @Deactivate
  void deactivate() {
    service.close();
  }
}
