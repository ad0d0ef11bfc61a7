package dev.polis.metrics;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.metrics.MetricsExporter;
import dev.polis.api.network.Network;
import dev.polis.api.storage.Storage;
import dev.polis.base.boot.BootReport;
import dev.polis.health.HealthRegistry;
import dev.polis.logtree.LogTree;
import dev.polis.process.ProcessManager;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Supervisor;
import java.util.Arrays;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the metrics organ. */
@Component(
    service = {},
    immediate = true,
    configurationPid = "dev.polis.metrics")
@Designate(ocd = MetricsConfig.class)
public final class MetricsComponent {

  private final BootReport boot;
  private final MetricsService service;

  /** Starts the organ; Declarative Services call this. */
  @Activate
  public MetricsComponent(
      BundleContext bundle,
      MetricsConfig config,
      @Reference BootReport boot,
      @Reference LogTree logs,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry health,
      @Reference RpcHost rpc,
      @Reference ProcessManager processes,
      @Reference Storage storage,
      @Reference Network network,
      @Reference ClusterManager cluster) {
    this.boot = boot;
    this.service =
        new MetricsService(
            MetricsSettings.of(config),
            new MetricsService.Parts(
                logs,
                supervisor,
                health,
                rpc,
                processes,
                storage.data(),
                network,
                cluster,
                () -> Arrays.asList(bundle.getBundles())));
  }

  /** Adds a page; Declarative Services call this when an organ or role offers one. */
  @Reference(cardinality = ReferenceCardinality.MULTIPLE, policy = ReferencePolicy.DYNAMIC)
  void addExporter(MetricsExporter exporter) {
    service.add(exporter);
  }

  /** Removes a page; Declarative Services call this when it goes. */
  void removeExporter(MetricsExporter exporter) {
    service.remove(exporter);
  }

  @Deactivate
  void deactivate() {
    service.close(boot.stopReason());
  }
}
