package dev.polis.curator;

import dev.polis.api.consensus.Consensus;
import dev.polis.api.curator.BootstrapOutcome;
import dev.polis.api.curator.BootstrapRequest;
import dev.polis.api.curator.Curator;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.Network;
import dev.polis.boot.BootReport;
import dev.polis.event.Value;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.StatusHealth;
import dev.polis.logtree.Secret;
import dev.polis.pki.NodeCredentials;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import io.grpc.BindableService;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the curator organ. */
@Component(service = Curator.class, configurationPid = "dev.polis.curator", immediate = true)
@Designate(ocd = CuratorConfig.class)
public final class CuratorComponent implements Curator {

  private final BundleContext bundle;
  private final BootReport boot;
  private final Subtree subtree;
  private final HealthScope health;
  private final CuratorService service;
  private final List<ServiceRegistration<BindableService>> registrations =
      new CopyOnWriteArrayList<>();

  /** Activates the organ; it is idle until the cluster organ tells it to serve. */
  @Activate
  public CuratorComponent(
      BundleContext bundle,
      CuratorConfig config,
      @Reference BootReport boot,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry healths,
      @Reference RpcHost rpc,
      @Reference Consensus consensus,
      @Reference Network network) {
    this.bundle = bundle;
    this.boot = boot;
    this.subtree = supervisor.organ("curator");
    this.service =
        new CuratorService(
            consensus,
            network,
            rpc,
            subtree,
            this::publish,
            Duration.ofSeconds(config.leader_ttl()),
            config.port());
    health = healths.organ("curator", subtree.dn());
    subtree.run("health", StatusHealth.task(service.status(), health, CuratorHealth::of));
  }

  private void publish(List<BindableService> services) {
    Dictionary<String, Object> onCurator = new Hashtable<>();
    onCurator.put(RpcHost.LISTENER, RpcHost.CURATOR);
    services.forEach(
        each -> registrations.add(bundle.registerService(BindableService.class, each, onCurator)));
  }

  /** Takes the services back, which lets calls in flight finish, and stops campaigning. */
  @Deactivate
  void deactivate() {
    health.close();
    registrations.forEach(ServiceRegistration::unregister);
    service.close();
    subtree.close(boot.stopReason());
  }

  @Override
  public BootstrapOutcome bootstrap(BootstrapRequest request) throws InterruptedException {
    return service.bootstrap(request);
  }

  @Override
  public void serve(NodeCredentials credentials) {
    service.serve(credentials);
  }

  @Override
  public X509Certificate renew(NodeCredentials credentials) throws InterruptedException {
    return service.renew(credentials);
  }

  @Override
  public Secret clusterUnlockKey(NodeCredentials credentials) throws InterruptedException {
    return service.clusterUnlockKey(credentials);
  }

  @Override
  public Value<CuratorStatus> status() {
    return service.status();
  }
}
