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
import dev.polis.rpc.ComputingThreads;
import dev.polis.rpc.HttpRequests;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.TlsTask;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import java.util.List;
import java.util.function.Supplier;
import org.osgi.framework.Bundle;

/** Runs the HTTPS server with its pages. */
final class MetricsService {

  /** Holds the services that the organ uses. */
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

  /**
   * The pages before the first request: the first one loads the classes, and the JVM compiles the
   * loops until the second ends.
   */
  private static final int WARM_PAGES = 2;

  private final MetricsExporters exporters = new MetricsExporters();
  private final SupervisionMetrics supervision;
  private final Subtree subtree;
  private final HealthScope health;
  private final NodeExporter nodeExporter;
  private final NodeDiscovery discovery;
  private final Log log;

  /** Starts the server, which waits for an address and for credentials. */
  MetricsService(MetricsSettings settings, Parts parts) {
    this.supervision = new SupervisionMetrics(parts.supervisor());
    this.subtree = parts.supervisor().organ("metrics");
    MetricsRegistry registry =
        new MetricsRegistry(
            List.of(
                supervision,
                new HealthMetrics(parts.health()),
                new StorageMetrics(parts.data()),
                new ClockMetrics(parts.network().clock()),
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
    TlsTask.Service pages =
        new TlsTask.Service(
            MetricsSettings.PID,
            settings.port(),
            "metrics at https://%s/metrics",
            access::context,
            TlsContexts.serverParameters(),
            serverLog ->
                new HttpRequests(
                    new MetricsHandler(access, registry, exporters, discovery, serverLog),
                    () -> warm(registry, parts.rpc().computing())));
    subtree.run(
        "server",
        new TlsTask<>(
            pages, access::awaitCredentials, parts.network().status(), NetworkStatus::address));
  }

  /**
   * Writes pages without a reader, which loads their code. It runs on a thread of low priority,
   * because the calls of the node come first.
   */
  private void warm(MetricsRegistry registry, ComputingThreads threads) {
    try {
      threads.run(
          () -> {
            for (int page = 0; page < WARM_PAGES; page++) {
              registry.scrape();
            }
            return registry;
          });
    } catch (RpcException busy) {
      log.info("the first reader waits while code is loaded: %s", busy.getMessage());
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
    }
  }

  void add(MetricsExporter exporter) {
    exporters.add(exporter);
  }

  void remove(MetricsExporter exporter) {
    exporters.remove(exporter);
  }

  /** Ends the server and the counts; ends the node exporter too if the reason ends work. */
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
