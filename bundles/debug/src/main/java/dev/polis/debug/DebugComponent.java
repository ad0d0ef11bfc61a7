package dev.polis.debug;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.curator.Curator;
import dev.polis.api.network.Network;
import dev.polis.api.storage.Storage;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.LogCalls;
import dev.polis.rpc.RpcHost;
import io.grpc.BindableService;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
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

  private final ConditionBoard conditions = new ConditionBoard();
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

  /** An organ came. */
  @Reference(
      cardinality = ReferenceCardinality.OPTIONAL,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  void bindNetwork(Network network) {
    conditions.network().came(network);
  }

  /** An organ goes. */
  void unbindNetwork(Network network) {
    conditions.network().went(network);
  }

  /** An organ came. */
  @Reference(
      cardinality = ReferenceCardinality.OPTIONAL,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  void bindStorage(Storage storage) {
    conditions.storage().came(storage);
  }

  /** An organ goes. */
  void unbindStorage(Storage storage) {
    conditions.storage().went(storage);
  }

  /** An organ came. */
  @Reference(
      cardinality = ReferenceCardinality.OPTIONAL,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  void bindConsensus(Consensus consensus) {
    conditions.consensus().came(consensus);
  }

  /** An organ goes. */
  void unbindConsensus(Consensus consensus) {
    conditions.consensus().went(consensus);
  }

  /** An organ came. */
  @Reference(
      cardinality = ReferenceCardinality.OPTIONAL,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  void bindCurator(Curator curator) {
    conditions.curator().came(curator);
  }

  /** An organ goes. */
  void unbindCurator(Curator curator) {
    conditions.curator().went(curator);
  }

  /** An organ came. */
  @Reference(
      cardinality = ReferenceCardinality.OPTIONAL,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  void bindCluster(ClusterManager cluster) {
    conditions.cluster().came(cluster);
  }

  /** An organ goes. */
  void unbindCluster(ClusterManager cluster) {
    conditions.cluster().went(cluster);
  }
}
