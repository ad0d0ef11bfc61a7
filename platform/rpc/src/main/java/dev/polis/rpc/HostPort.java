package dev.polis.rpc;

import io.netty.util.NetUtil;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** Writes the address of a port as text. */
public final class HostPort {

  private HostPort() {}

  /** Returns an address as people write it: of IPv6 the short form of RFC 5952. */
  public static String host(InetAddress address) {
    return address instanceof Inet6Address
        ? NetUtil.toAddressString(address)
        : address.getHostAddress();
  }

  /** Returns {@code host:port}, an IPv6 address in brackets. */
  public static String of(InetSocketAddress at) {
    String host = at.isUnresolved() ? at.getHostString() : host(at.getAddress());
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + at.getPort();
  }
}
