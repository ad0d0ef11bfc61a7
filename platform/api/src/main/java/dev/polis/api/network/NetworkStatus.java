package dev.polis.api.network;

import java.net.InetAddress;
import java.util.Optional;

/** Describes whether the node has an address. */
public sealed interface NetworkStatus {

  /**
   * Means that the node has no address.
   *
   * @param reason the awaited event, as text
   */
  record Waiting(String reason) implements NetworkStatus {}

  /**
   * Means that the node has an address.
   *
   * @param externalAddress the address for its listeners and for other nodes
   */
  record Up(InetAddress externalAddress) implements NetworkStatus {}

  /** Returns the address, if there is one. */
  default Optional<InetAddress> address() {
    return this instanceof Up(InetAddress here) ? Optional.of(here) : Optional.empty();
  }
}
