package dev.polis.debug;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.containers.Containers;
import dev.polis.api.curator.Curator;
import dev.polis.api.kubeconfig.KubeconfigIssuer;
import dev.polis.api.network.Network;
import dev.polis.api.storage.Storage;
import dev.polis.base.boot.BootReport;
import dev.polis.health.HealthRegistry;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Supervisor;
import io.grpc.BindableService;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;
import org.osgi.service.component.annotations.ReferencePolicyOption;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the debug organ, which runs without any other organ. */
@Component(
    service = {},
    immediate = true,
    configurationPid = "dev.polis.debug")
@Designate(ocd = DebugConfig.class)
public final class DebugComponent implements DebugConditions.Organs {

  // Null while the organ is absent.
  @Reference(
      cardinality = ReferenceCardinality.OPTIONAL,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  volatile Network network;

  @Reference(
      cardinality = ReferenceCardinality.OPTIONAL,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  volatile Storage storage;

  @Reference(
      cardinality = ReferenceCardinality.OPTIONAL,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  volatile Consensus consensus;

  @Reference(
      cardinality = ReferenceCardinality.OPTIONAL,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  volatile Curator curator;

  @Reference(
      cardinality = ReferenceCardinality.OPTIONAL,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  volatile ClusterManager cluster;

  @Reference(
      cardinality = ReferenceCardinality.OPTIONAL,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  volatile Containers containers;

  @Reference(
      cardinality = ReferenceCardinality.OPTIONAL,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  volatile KubeconfigIssuer kubernetes;

  private final BootReport boot;
  private final DebugService service;
  private final List<ServiceRegistration<BindableService>> registrations;

  /** Starts the organ; Declarative Services call this. */
  @Activate
  public DebugComponent(
      BundleContext bundle,
      DebugConfig config,
      @Reference BootReport boot,
      @Reference LogTree logs,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry health,
      @Reference RpcHost rpc) {
    this.boot = boot;
    DebugSettings settings = DebugSettings.of(config);
    this.service =
        new DebugService(
            bundle,
            settings,
            new DebugService.Sources(
                new DebugConditions(this),
                new DebugImages(settings.images(), () -> Optional.ofNullable(containers)),
                new DebugKubeconfig(settings.kubeconfig(), () -> Optional.ofNullable(kubernetes))),
            boot,
            logs,
            supervisor,
            health,
            rpc);
    this.registrations =
        Stream.concat(
                service.endpoints().stream().map(each -> serve(bundle, each, RpcHost.DEBUG)),
                Stream.of(serve(bundle, service.images(), RpcHost.MANAGEMENT)))
            .toList();
  }

  private static ServiceRegistration<BindableService> serve(
      BundleContext bundle, BindableService endpoint, String listener) {
    return bundle.registerService(
        BindableService.class, endpoint, new Hashtable<>(Map.of(RpcHost.LISTENER, listener)));
  }

  /** Removes the endpoints, which lets running calls finish, then ends the streams. */
  @Deactivate
  void deactivate() {
    registrations.forEach(ServiceRegistration::unregister);
    service.close(boot.stopReason());
  }

  @Override
  public Optional<Network> network() {
    return Optional.ofNullable(network);
  }

  @Override
  public Optional<Storage> storage() {
    return Optional.ofNullable(storage);
  }

  @Override
  public Optional<Consensus> consensus() {
    return Optional.ofNullable(consensus);
  }

  @Override
  public Optional<Curator> curator() {
    return Optional.ofNullable(curator);
  }

  @Override
  public Optional<ClusterManager> cluster() {
    return Optional.ofNullable(cluster);
  }
}
