package dev.polis.api.network;

import java.net.InetAddress;

/** Whether the node has an address. */
public sealed interface NetworkStatus {

  /**
   * It has none yet, or none any more.
   *
   * @param reason what is waited for, in words
   */
  record Waiting(String reason) implements NetworkStatus {}

  /**
   * It has one.
   *
   * @param externalAddress the address to listen on and to tell others
   */
  record Up(InetAddress externalAddress) implements NetworkStatus {}
}
