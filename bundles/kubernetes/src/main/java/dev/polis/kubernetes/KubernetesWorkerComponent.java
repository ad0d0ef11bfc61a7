package dev.polis.kubernetes;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.containers.Containers;
import dev.polis.api.network.Network;
import dev.polis.api.roles.RolePlugin;
import dev.polis.api.storage.Storage;
import dev.polis.health.HealthRegistry;
import dev.polis.kubernetes.settings.KubernetesConfig;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.kubernetes.worker.WorkerService;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.Context;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Wires the role KubernetesWorker. Its configuration is that of the other role, whose component
 * declares it.
 */
@Component(
    service = RolePlugin.class,
    immediate = true,
    configurationPid = KubernetesSettings.PID,
    property = RolePlugin.ROLE + "=" + WorkerService.ROLE)
public final class KubernetesWorkerComponent implements RolePlugin {

  private final WorkerService service;

  /** Starts the role's service; Declarative Services call this. */
  @Activate
  public KubernetesWorkerComponent(
      KubernetesConfig config,
      @Reference ClusterManager cluster,
      @Reference Network network,
      @Reference Storage storage,
      @Reference Containers containers,
      @Reference ProcessManager processes,
      @Reference HealthRegistry health) {
    this.service =
        new WorkerService(
            KubernetesSettings.of(config),
            new WorkerService.Parts(
                cluster,
                network,
                storage,
                containers,
                processes,
                health,
                config.curator_port(),
                KubernetesSettings.podPatience(config)));
  }

  @Override
  public void run(Context context) throws Exception {
    service.run(context);
  }
}
