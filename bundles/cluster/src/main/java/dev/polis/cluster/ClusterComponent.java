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
import dev.polis.handover.OrganState;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.SelfCheck;
import dev.polis.health.StatusHealth;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import io.grpc.BindableService;
import java.security.SecureRandom;
import java.time.InstantSource;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.function.Function;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the cluster organ. */
@Component(service = ClusterManager.class, configurationPid = "dev.polis.cluster", immediate = true)
@Designate(ocd = ClusterConfig.class)
public final class ClusterComponent implements ClusterManager {

  private final BootReport boot;
  private final Subtree subtree;
  private final HealthScope health;
  private final HandOvers.Membership<ClusterService> membership;
  private final ClusterService service;
  private final ServiceRegistration<BindableService> recovery;

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
    // This comes before the organ opens anything, so that a refusal leaves nothing behind.
    ClusterSettings settings = ClusterSettings.of(config);
    this.boot = boot;
    this.subtree = supervisor.organ("cluster");
    Log log = logs.log(subtree.dn() + ".manager");
    EnrolmentOrgans organs =
        new EnrolmentOrgans(
            storage, network, consensus, curator, rpc, boot, settings.readyWithin());
    EnrolmentSteps steps = new EnrolmentSteps(boot, log);
    this.membership =
        joined(
            handOvers,
            taken ->
                new ClusterService(
                    organs,
                    new EnrolmentMachine(log),
                    new NodeParametersLoader(settings.sources(storage.root().esp()), log),
                    new BootstrapFlow(organs, steps, new SecureRandom(), InstantSource.system()),
                    new JoinFlow(organs, steps, settings.recoveryKey(), InstantSource.system()),
                    steps,
                    taken));
    this.service = membership.instance();
    this.recovery = registered(bundle, storage, curator, log);
    subtree.run("manager", service::run);
    health = healths.organ("cluster", subtree.dn());
    subtree.run("health", StatusHealth.task(service.status(), health, ClusterHealth::of));
    subtree.run(
        "certificates",
        SelfCheck.task(
            health,
            ClusterHealth.certificates(
                storage.root().data().node().credentials(), InstantSource.system())));
    subtree.run(
        "credentials",
        SelfCheck.task(
            health,
            () ->
                service
                    .status()
                    .peek()
                    .flatMap(ClusterStatus::credentials)
                    .flatMap(
                        inUse ->
                            ClusterHealth.credentials(
                                storage.root().data().node().credentials(), inUse))));
    subtree.run("trust", StatusHealth.task(rpc.revocations(), health, ClusterHealth::of));
  }

  /** Takes over from the previous instance, or leaves nothing behind. */
  private HandOvers.Membership<ClusterService> joined(
      HandOvers handOvers, Function<OrganState, ClusterService> start) {
    try {
      return handOvers.join("cluster", predecessor -> start.apply(predecessor.take()));
    } catch (RuntimeException refused) {
      subtree.close(boot.stopReason());
      throw refused;
    }
  }

  private ServiceRegistration<BindableService> registered(
      BundleContext bundle, Storage storage, Curator curator, Log log) {
    Dictionary<String, Object> onManagement = new Hashtable<>();
    onManagement.put(RpcHost.LISTENER, RpcHost.MANAGEMENT);
    return bundle.registerService(
        BindableService.class,
        new RecoveryService(storage, curator, service.status(), log),
        onManagement);
  }

  /** Stops enrolling or following; all that the organ started keeps running. */
  @Deactivate
  void deactivate() {
    membership.leave(this::close);
  }

  private void close() {
    health.close();
    recovery.unregister();
    subtree.close(boot.stopReason());
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
