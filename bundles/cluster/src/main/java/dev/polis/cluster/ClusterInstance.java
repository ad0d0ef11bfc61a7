package dev.polis.cluster;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.storage.Storage;
import dev.polis.base.boot.StopReason;
import dev.polis.handover.OrganInstance;
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
import java.util.Hashtable;
import java.util.Map;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;

/** Runs the work of the organ: the manager, its checks, and the endpoint of the recovery key. */
final class ClusterInstance implements OrganInstance {

  private final ClusterService service;
  private final Subtree subtree;
  private final HealthScope health;
  private final ServiceRegistration<BindableService> recovery;

  /** Starts the manager, which begins to enrol the node at once, or continues as a member. */
  ClusterInstance(
      BundleContext bundle,
      ClusterSettings settings,
      EnrolmentOrgans organs,
      LogTree logs,
      Supervisor supervisor,
      HealthRegistry healths,
      OrganState taken) {
    Storage storage = organs.storage();
    this.subtree = supervisor.organ("cluster");
    Log log = logs.log(subtree.dn() + ".manager");
    EnrolmentSteps steps = new EnrolmentSteps(organs.boot(), log);
    this.service =
        new ClusterService(
            organs,
            new EnrolmentMachine(log),
            new NodeParametersLoader(settings.sources(storage.root().esp()), log),
            new BootstrapFlow(organs, steps, new SecureRandom(), InstantSource.system()),
            new RegisterFlow(organs, steps, new SecureRandom(), InstantSource.system()),
            new JoinFlow(organs, steps, settings.recoveryKey(), InstantSource.system()),
            steps,
            taken);
    this.recovery =
        bundle.registerService(
            BindableService.class,
            new RecoveryService(storage, organs.curator(), service.status(), log),
            new Hashtable<>(Map.of(RpcHost.LISTENER, RpcHost.MANAGEMENT)));
    this.health = healths.organ("cluster", subtree.dn());
    subtree.run("manager", service::run);
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
    subtree.run("trust", StatusHealth.task(organs.rpc().revocations(), health, ClusterHealth::of));
  }

  ClusterService service() {
    return service;
  }

  @Override
  public OrganState give() throws InterruptedException {
    return service.give();
  }

  @Override
  public void resume(OrganState state) {
    service.resume(state);
  }

  /** Stops the enrolment or the watch; the started programs keep running. */
  @Override
  public void close(StopReason reason) {
    health.close();
    try {
      recovery.unregister();
    } catch (IllegalStateException stopped) {
      // The framework has unregistered all services of a bundle that stopped.
    } finally {
      subtree.close(reason);
    }
  }
}
