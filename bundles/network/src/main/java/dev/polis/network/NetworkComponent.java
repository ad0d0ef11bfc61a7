package dev.polis.network;

import dev.polis.api.network.ClockStatus;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.storage.Storage;
import dev.polis.base.values.Value;
import dev.polis.handover.HandOvers;
import dev.polis.health.HealthRegistry;
import dev.polis.logtree.LogTree;
import dev.polis.pki.NodeId;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.Supervisor;
import dev.polis.wire.net.Net;
import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the network organ. */
@Component(service = Network.class, configurationPid = "dev.polis.network", immediate = true)
@Designate(ocd = NetworkConfig.class)
public final class NetworkComponent implements Network {

  private final HandOvers.Membership<NetworkService> membership;
  private final NetworkService service;

  /** Starts the organ; Declarative Services call this. */
  @Activate
  public NetworkComponent(
      @Reference Storage storage,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry health,
      @Reference HandOvers handOvers,
      @Reference ProcessManager processes,
      @Reference LogTree logs,
      NetworkConfig config)
      throws Exception {
    NetworkSettings settings = NetworkSettings.of(config);
    NetworkService.Parts parts =
        new NetworkService.Parts(storage.root(), supervisor, health, processes, logs);
    this.membership =
        handOvers.join(
            "network", predecessor -> new NetworkService(settings, parts, predecessor.take()));
    this.service = membership.instance();
  }

  @Deactivate
  void deactivate() {
    membership.leave();
  }

  @Override
  public Value<NetworkStatus> status() {
    return service.status();
  }

  @Override
  public void publishLocalName(NodeId node) throws IOException {
    service.publishLocalName(node);
  }

  @Override
  public void publishNames(Map<NodeId, InetAddress> nodes) throws IOException {
    service.publishNames(nodes);
  }

  @Override
  public boolean ownsInterfaces() {
    return service.ownsInterfaces();
  }

  @Override
  public void configure(Net configuration) throws IOException, InterruptedException {
    service.configure(configuration);
  }

  @Override
  public Value<ClockStatus> clock() {
    return service.clock();
  }

  @Override
  public void keepClock(List<String> timeServers) throws IOException, InterruptedException {
    service.keepClock(timeServers);
  }
}
