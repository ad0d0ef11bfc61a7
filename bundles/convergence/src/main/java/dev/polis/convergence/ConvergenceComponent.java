package dev.polis.convergence;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.network.Network;
import dev.polis.api.roles.LocalRoleServer;
import dev.polis.base.boot.BootReport;
import dev.polis.health.HealthRegistry;
import dev.polis.plugins.local.LocalPlugins;
import dev.polis.supervision.Supervisor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the convergence organ. */
@Component(
    service = {},
    immediate = true,
    configurationPid = "dev.polis.convergence")
@Designate(ocd = ConvergenceConfig.class)
public final class ConvergenceComponent {

  private final BootReport boot;
  private final ConvergenceService service;

  /** Starts the organ; Declarative Services call this. */
  @Activate
  public ConvergenceComponent(
      ConvergenceConfig config,
      @Reference BootReport boot,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry health,
      @Reference LocalPlugins plugins,
      @Reference Network network,
      @Reference ClusterManager cluster,
      @Reference LocalRoleServer roles) {
    this.boot = boot;
    this.service =
        new ConvergenceService(
            ConvergenceSettings.of(config),
            new ConvergenceService.Parts(supervisor, health, plugins, network, cluster, roles));
  }

  @Deactivate
  void deactivate() {
    service.close(boot.stopReason());
  }
}
