package dev.polis.curator.leader;

import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.base.values.Watcher;
import java.net.InetAddress;

/** Gives the address at which other nodes reach this node's curator. Thread-safe. */
public final class AdvertisedAddress {

  private final Network network;
  private final int port;

  /**
   * Creates the address of a node's curator.
   *
   * @param port the port of the curator listener
   */
  public AdvertisedAddress(Network network, int port) {
    this.network = network;
    this.port = port;
  }

  /** Returns the node's IP address; an empty text without one. */
  public String host() {
    return network.status().peek().orElseThrow() instanceof NetworkStatus.Up up
        ? up.externalAddress().getHostAddress()
        : "";
  }

  /** Returns the states of the network, with which the address changes. */
  Watcher<NetworkStatus> changes() {
    return network.status().watch();
  }

  public int port() {
    return port;
  }

  /** Returns the IP address from another curator; an empty text for another text. */
  static String checked(String host) {
    try {
      return InetAddress.ofLiteral(host).getHostAddress();
    } catch (IllegalArgumentException none) {
      return "";
    }
  }
}
