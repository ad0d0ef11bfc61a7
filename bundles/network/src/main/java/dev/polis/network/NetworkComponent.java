package dev.polis.network;

import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.storage.Storage;
import dev.polis.boot.BootReport;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.files.layout.Root;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.StatusHealth;
import dev.polis.pki.NodeId;
import dev.polis.supervision.Context;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.Map;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the network organ. The files it wrote stay when it is deactivated. */
@Component(service = Network.class, configurationPid = "dev.polis.network", immediate = true)
@Designate(ocd = NetworkConfiguration.class)
public final class NetworkComponent implements Network {

  private static final Duration LOOK_EVERY = Duration.ofSeconds(1);

  private final HostAddresses addresses;
  private final NodeNames names;
  private final MutableValue<NetworkStatus> status;
  private final BootReport boot;
  private final Subtree subtree;
  private final HealthScope health;

  /** Looks once, so that a status is there from the start. */
  @Activate
  public NetworkComponent(
      @Reference Storage storage,
      @Reference BootReport boot,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry healths,
      NetworkConfiguration configuration)
      throws IOException {
    HostAddresses.validate(configuration.address());
    Root.Ephemeral ephemeral = storage.root().ephemeral();
    addresses = new HostAddresses(configuration.address(), HostAddresses.thisMachine());
    names = new NodeNames(ephemeral.hosts(), ephemeral.machineId());
    status = new MutableValue<>(addresses.look());
    names.status(status.peek().orElseThrow());
    this.boot = boot;
    subtree = supervisor.organ("network");
    subtree.run("address", this::watch);
    health = healths.organ("network", subtree.dn());
    subtree.run("health", StatusHealth.task(status, health, NetworkHealth::of));
  }

  private void watch(Context context) throws IOException, InterruptedException {
    context.log().info("%s", status.peek().orElseThrow());
    context.healthy();
    while (!context.cancelled()) {
      Thread.sleep(LOOK_EVERY);
      NetworkStatus now = addresses.look();
      if (!now.equals(status.peek().orElseThrow())) {
        context.log().warning("Network changed: %s", now);
        names.status(now);
        status.set(now);
      }
    }
  }

  /** Ends watching. */
  @Deactivate
  public void deactivate() {
    health.close();
    subtree.close(boot.stopReason());
  }

  @Override
  public Value<NetworkStatus> status() {
    return status;
  }

  @Override
  public void publishLocalName(NodeId node) throws IOException {
    names.local(node);
  }

  @Override
  public void publishPeers(Map<NodeId, InetAddress> peers) throws IOException {
    names.peers(peers);
  }
}
