package dev.polis.curator;

import dev.polis.api.consensus.Consensus;
import dev.polis.api.curator.BootstrapOutcome;
import dev.polis.api.curator.BootstrapRequest;
import dev.polis.api.curator.Curator;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.metrics.MetricsAnswer;
import dev.polis.api.metrics.MetricsExporter;
import dev.polis.api.network.Network;
import dev.polis.base.values.Value;
import dev.polis.etcd.SharedEtcdConnection;
import dev.polis.handover.HandOvers;
import dev.polis.health.HealthRegistry;
import dev.polis.logtree.Secret;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.plugins.manifest.InstalledManifests;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Supervisor;
import java.security.cert.X509Certificate;
import java.util.Set;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the curator organ. */
@Component(
    service = {Curator.class, MetricsExporter.class},
    configurationPid = "dev.polis.curator",
    immediate = true)
@Designate(ocd = CuratorConfig.class)
public final class CuratorComponent implements Curator, MetricsExporter {

  private final HandOvers.Membership<CuratorService> membership;
  private final CuratorService service;

  /** Starts the curator; Declarative Services call this. */
  @Activate
  public CuratorComponent(
      BundleContext bundle,
      CuratorConfig config,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry health,
      @Reference HandOvers handOvers,
      @Reference RpcHost rpc,
      @Reference Consensus consensus,
      @Reference Network network) {
    EndpointRegistrations endpoints = new EndpointRegistrations(bundle);
    TrustRegistration trust = new TrustRegistration(bundle);
    CuratorSettings settings = CuratorSettings.of(config);
    CuratorService.Parts parts =
        new CuratorService.Parts(
            consensus,
            SharedEtcdConnection::new,
            network,
            rpc,
            supervisor,
            health,
            endpoints,
            System::nanoTime,
            key -> InstalledManifests.signedBy(bundle, key),
            trust);
    this.membership =
        handOvers.join(
            "curator", predecessor -> CuratorService.start(settings, parts, predecessor));
    this.service = membership.instance();
  }

  @Deactivate
  void deactivate() {
    membership.leave();
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
  public void follow(NodeCredentials credentials, Set<NodeEndpoint> curators) {
    service.follow(credentials, curators);
  }

  @Override
  public void leave() {
    service.leave();
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

  @Override
  public String exporterName() {
    return ClusterMetrics.NAME;
  }

  @Override
  public MetricsAnswer scrape() {
    return ClusterMetrics.page(service.term());
  }
}
