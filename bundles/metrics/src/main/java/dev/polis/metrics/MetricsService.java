package dev.polis.metrics;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.metrics.MetricsExporter;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.storage.DataStatus;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.Value;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.pki.TlsContexts;
import dev.polis.process.ProcessManager;
import dev.polis.rpc.HttpsTask;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import java.util.List;
import java.util.function.Supplier;
import org.osgi.framework.Bundle;

/** Runs the HTTPS server with its pages. */
final class MetricsService {

  /** What the organ works with. */
  record Parts(
      LogTree logs,
      Supervisor supervisor,
      HealthRegistry health,
      RpcHost rpc,
      ProcessManager processes,
      Value<DataStatus> data,
      Network network,
      ClusterManager cluster,
      Supplier<List<Bundle>> bundles) {}

  private final MetricsExporters exporters = new MetricsExporters();
  private final SupervisionMetrics supervision;
  private final Subtree subtree;
  private final HealthScope health;
  private final NodeExporter nodeExporter;
  private final NodeDiscovery discovery;
  private final Log log;

  /** Starts the server, which waits for an address and for credentials by itself. */
  MetricsService(MetricsSettings settings, Parts parts) {
    this.supervision = new SupervisionMetrics(parts.supervisor());
    this.subtree = parts.supervisor().organ("metrics");
    MetricsRegistry registry =
        new MetricsRegistry(
            List.of(
                supervision,
                new HealthMetrics(parts.health()),
                new StorageMetrics(parts.data()),
                new BundleMetrics(parts.bundles()),
                new RpcMetrics(parts.rpc()::statistics),
                new LogMetrics(parts.logs()::statistics)));
    this.log = parts.logs().log(subtree.dn());
    this.health = parts.health().organ("metrics", subtree.dn());
    this.nodeExporter =
        new NodeExporter(settings, parts.processes(), parts.network().status(), subtree, health);
    exporters.add(nodeExporter);
    this.discovery =
        new NodeDiscovery(
            () -> parts.rpc().listeners().peek().orElseThrow(),
            () -> parts.cluster().status().peek().flatMap(ClusterStatus::credentials),
            log);
    MetricsAccess access = new MetricsAccess(parts.cluster().status(), parts.rpc()::revoked);
    HttpsTask.Service pages =
        new HttpsTask.Service(
            MetricsSettings.PID,
            settings.port(),
            "metrics at https://%s/metrics",
            access::context,
            TlsContexts.serverParameters(),
            serverLog -> new MetricsHandler(access, registry, exporters, discovery, serverLog));
    subtree.run(
        "server",
        new HttpsTask<>(
            pages, access::awaitCredentials, parts.network().status(), NetworkStatus::address));
  }

  void add(MetricsExporter exporter) {
    exporters.add(exporter);
  }

  void remove(MetricsExporter exporter) {
    exporters.remove(exporter);
  }

  /** Stops listening and counting; the node exporter ends too if the reason asks for it. */
  void close(StopReason reason) {
    health.close();
    subtree.close(reason);
    supervision.close();
    discovery.close();
    try {
      nodeExporter.close(reason);
    } catch (InterruptedException hurried) {
      log.warning("interrupted while stopping the node exporter; it may still run");
      Thread.currentThread().interrupt();
    }
  }
}
