package dev.polis.cluster;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.curator.Curator;
import dev.polis.api.network.Network;
import dev.polis.api.storage.Storage;
import dev.polis.base.boot.BootReport;
import dev.polis.base.values.Value;
import dev.polis.handover.HandOvers;
import dev.polis.health.HealthRegistry;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Supervisor;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the cluster organ. */
@Component(service = ClusterManager.class, configurationPid = "dev.polis.cluster", immediate = true)
@Designate(ocd = ClusterConfig.class)
public final class ClusterComponent implements ClusterManager {

  private final HandOvers.Membership<ClusterInstance> membership;
  private final ClusterService service;

  /** Activates the organ, which begins to enrol the node at once. */
  @Activate
  public ClusterComponent(
      BundleContext bundle,
      ClusterConfig config,
      @Reference BootReport boot,
      @Reference LogTree logs,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry healths,
      @Reference HandOvers handOvers,
      @Reference RpcHost rpc,
      @Reference Storage storage,
      @Reference Network network,
      @Reference Consensus consensus,
      @Reference Curator curator) {
    ClusterSettings settings = ClusterSettings.of(config);
    EnrolmentOrgans organs =
        new EnrolmentOrgans(
            storage, network, consensus, curator, rpc, boot, settings.readyWithin());
    this.membership =
        handOvers.join(
            "cluster",
            predecessor ->
                new ClusterInstance(
                    bundle, settings, organs, logs, supervisor, healths, predecessor.take()));
    this.service = membership.instance().service();
  }

  @Deactivate
  void deactivate() {
    membership.leave();
  }

  @Override
  public Value<ClusterStatus> status() {
    return service.status();
  }

  @Override
  public ClusterStatus awaitHome() throws InterruptedException {
    return service.awaitHome();
  }
}
