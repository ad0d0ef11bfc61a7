package org.example.kubernetes;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.network.Network;
import dev.polis.api.roles.RolePlugin;
import dev.polis.base.config.SettingCheck;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.supervision.Context;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the organ. */
@Component(
    service = RolePlugin.class,
    immediate = true,
    configurationPid = KubernetesComponent.PID,
    property = RolePlugin.ROLE + "=" + KubernetesRole.NAME)
@Designate(ocd = KubernetesConfig.class)
public final class KubernetesComponent implements RolePlugin {

  static final String PID = "dev.polis.kubernetes";

  private static final SettingCheck CHECK = SettingCheck.of(PID);
  private static final int MAX_PORT = 65_535;

  private final KubernetesRole role;
  private final HealthScope health;

  /** Called by Declarative Services. */
  @Activate
  public KubernetesComponent(
      KubernetesConfig config,
      @Reference ClusterManager cluster,
      @Reference Network network,
      @Reference HealthRegistry registry) {
    this.role =
        new KubernetesRole(
            CHECK.range("port", config.port(), 0, MAX_PORT),
            CHECK.present("message", config.message()),
            cluster.status(),
            network.status());
    // Among the organs of "polisctl health" for as long as it is there.
    this.health = registry.organ("kubernetes", "");
  }

  @Override
  public void run(Context context) throws Exception {
    role.run(context);
  }

  @Deactivate
  void deactivate() {
    health.close();
  }
}
