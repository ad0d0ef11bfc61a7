package dev.polis.api.network;

import dev.polis.api.contract.Followed;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.pki.NodeId;
import dev.polis.wire.net.Net;
import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import org.osgi.annotation.versioning.ProviderType;

/** Publishes the node's address and name, and configures its network. Thread-safe. */
@Followed
@ProviderType
public interface Network {

  /** Returns the status of the node's address, which always has a value. */
  Value<NetworkStatus> status();

  /** Waits until the node has an address, and returns it. */
  default InetAddress awaitAddress() throws InterruptedException {
    try (Watcher<NetworkStatus> watcher = status().watch()) {
      return watcher.get(now -> now.address().isPresent()).address().orElseThrow();
    }
  }

  /**
   * Returns whether this node owns the network interfaces of its machine, or of the network
   * namespace that it runs in. If it does not, the interfaces also have foreign addresses, routes
   * and firewall rules. The default is false.
   */
  default boolean ownsInterfaces() {
    return false;
  }

  /**
   * Writes this node's name: the hosts file maps its id to the current address, and the machine id
   * is derived from it. Idempotent; survives a restart of the service.
   *
   * @throws IOException if the files cannot be written; nothing was changed then
   * @throws IllegalStateException if another node's name was published from this state directory
   *     before
   */
  void publishLocalName(NodeId node) throws IOException;

  /**
   * Writes the names of the cluster's nodes to the hosts file, in place of those of the last call.
   * This node's own name stays. Another instance of the service keeps them.
   *
   * @param nodes the address of each node by its id
   * @throws IOException if the file cannot be written; the former one stays then
   */
  void publishNames(Map<NodeId, InetAddress> nodes) throws IOException;

  /**
   * Applies a configuration to the network interfaces and stores it, so that each later start
   * applies it before the node looks for its address. Addresses by DHCP come later. Idempotent.
   *
   * @throws NetworkConfigException if this node does not own the interfaces, or a field cannot be
   *     applied; nothing was changed then
   * @throws IOException if a change fails or the configuration cannot be stored; call it again
   * @throws InterruptedException if interrupted; call it again
   */
  void configure(Net configuration) throws IOException, InterruptedException;

  /** Returns the status of the machine's clock, which always has a value. */
  Value<ClockStatus> clock();

  /**
   * Stores the time servers of the node parameters, so that this and each later start asks them, if
   * this node keeps the clock of its machine. Idempotent.
   *
   * @param timeServers their names or addresses; empty for none
   * @throws NetworkConfigException if {@link TimeServers#problem} finds a fault; nothing was
   *     changed then
   * @throws IOException if they cannot be stored; call it again
   * @throws InterruptedException if interrupted; call it again
   */
  void keepClock(List<String> timeServers) throws IOException, InterruptedException;
}
