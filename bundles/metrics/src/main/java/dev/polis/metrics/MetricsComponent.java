package dev.polis.metrics;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.network.Network;
import dev.polis.boot.BootReport;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import java.util.Arrays;
import java.util.List;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the metrics organ. */
@Component(
    service = {},
    immediate = true,
    configurationPid = "dev.polis.metrics")
@Designate(ocd = MetricsConfig.class)
public final class MetricsComponent {

  private final BootReport boot;
  private final Subtree subtree;
  private final SupervisionMetrics supervision;

  /** Called by Declarative Services; the server waits for address and credentials by itself. */
  @Activate
  public MetricsComponent(
      BundleContext bundle,
      MetricsConfig config,
      @Reference BootReport boot,
      @Reference LogTree logs,
      @Reference Supervisor supervisor,
      @Reference RpcHost rpc,
      @Reference Network network,
      @Reference ClusterManager cluster) {
    MetricsAccess access = new MetricsAccess(cluster.status(), rpc::revoked);
    EtcdPage etcd = new EtcdPage(config.etcd_address(), config.etcd_port(), cluster.status());
    this.boot = boot;
    this.subtree = supervisor.organ("metrics");
    this.supervision = new SupervisionMetrics(supervisor);
    MetricsScrape scrape =
        new MetricsScrape(
            List.of(
                supervision,
                new BundleMetrics(() -> Arrays.asList(bundle.getBundles())),
                new RpcMetrics(rpc::statistics),
                new LogMetrics(logs::statistics)));
    subtree.run(
        "server", new MetricsServer(config.port(), network, cluster, access, scrape, etcd)::run);
  }

  /** Stops listening and counting. */
  @Deactivate
  void deactivate() {
    subtree.close(boot.stopReason());
    supervision.close();
  }
}
