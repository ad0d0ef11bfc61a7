package dev.polis.rpc;

import java.net.InetSocketAddress;

/** Writes the address of a port as text. */
public final class HostPort {

  private HostPort() {}

  /** Returns {@code host:port}, an IPv6 address in brackets. */
  public static String of(InetSocketAddress at) {
    String host = at.isUnresolved() ? at.getHostString() : at.getAddress().getHostAddress();
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + at.getPort();
  }
}
