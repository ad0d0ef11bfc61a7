package dev.polis.debug;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterState;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.curator.Curator;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.Storage;
import dev.polis.event.Value;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.LogCalls;
import dev.polis.rpc.RpcHost;
import io.grpc.BindableService;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
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

/** Wires the debug organ. */
@Component(
    service = {},
    immediate = true,
    configurationPid = "dev.polis.debug")
@Designate(ocd = DebugConfig.class)
public final class DebugComponent {
  /** Where the organ logs. */
  static final String DN = "root.debug";

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

  private final ConditionBoard conditions =
      new ConditionBoard(
          Map.of(
              "IPAssigned",
              () -> is(network, Network::status, NetworkStatus.Up.class::isInstance),
              "DataAvailable",
              () -> is(storage, Storage::data, DataStatus.Mounted.class::isInstance),
              "ConsensusRunning",
              () -> is(consensus, Consensus::status, ConsensusStatus.Running.class::isInstance),
              "CuratorLeading",
              () -> is(curator, Curator::status, CuratorStatus.Leading.class::isInstance),
              "ClusterHome",
              () -> is(cluster, ClusterManager::status, now -> now.state() == ClusterState.HOME)));

  private final CallStreams streams = new CallStreams();
  private final List<ServiceRegistration<BindableService>> registrations;

  /** Called by Declarative Services; serves at once, whatever else is there. */
  @Activate
  public DebugComponent(BundleContext bundle, DebugConfig config, @Reference LogTree logs) {
    if (!config.enabled()) {
      logs.log(DN).info("the debug services are switched off");
      this.registrations = List.of();
      return;
    }
    logs.log(DN)
        .warning(
            "the debug services are on and UNAUTHENTICATED: whoever reaches the listener '%s' reads"
                + " this node's log; set enabled=false for dev.polis.debug to have none",
            RpcHost.DEBUG);
    Dictionary<String, Object> onDebug = new Hashtable<>();
    onDebug.put(RpcHost.LISTENER, RpcHost.DEBUG);
    this.registrations =
        services(logs).stream()
            .map(each -> bundle.registerService(BindableService.class, each, onDebug))
            .toList();
  }

  /** The services, as served on the listener for debugging. */
  List<BindableService> services(LogTree logs) {
    return List.of(
        new DebugService(conditions, new ComponentLogs(logs)),
        new NodeDebugService(new LogCalls(logs, streams)));
  }

  /** Takes the services back and ends their streams. */
  @Deactivate
  void deactivate() {
    registrations.forEach(ServiceRegistration::unregister);
    streams.close();
  }

  /** Whether the organ is there and its present state is such. */
  private static <O, S> boolean is(O organ, Function<O, Value<S>> state, Predicate<S> wanted) {
    return Optional.ofNullable(organ).map(state).flatMap(Value::peek).filter(wanted).isPresent();
  }
}
