package dev.polis.api.network;

import java.net.InetAddress;
import java.util.Optional;

/** Holds whether the node has an address. */
public sealed interface NetworkStatus {

  /**
   * It has none yet, or none any more.
   *
   * @param reason what it waits for, as text
   */
  record Waiting(String reason) implements NetworkStatus {}

  /**
   * It has one.
   *
   * @param externalAddress the address to listen on and to tell others
   */
  record Up(InetAddress externalAddress) implements NetworkStatus {}

  /** Returns the address; empty while there is none. */
  default Optional<InetAddress> address() {
    return this instanceof Up(InetAddress here) ? Optional.of(here) : Optional.empty();
  }
}
