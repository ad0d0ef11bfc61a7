package dev.polis.network;

import dev.polis.network.StaticNetwork.Route;
import java.net.Inet4Address;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads the routes of a lease. It drops those that do not work or do harm: via a gateway that is
 * not on the link, to the machine itself, to groups of machines, or to a destination that has one
 * already.
 */
final class DhcpRoutes {

  /** The most routes of a lease; each one costs a call of ip, and networks name a handful. */
  private static final int MOST = 32;

  private static final IpPrefix ALL = IpPrefix.parse("0.0.0.0/0");

  private final IpPrefix address;
  private final Map<IpPrefix, Route> routes = new LinkedHashMap<>();

  private DhcpRoutes(IpPrefix address) {
    this.address = address;
  }

  /** Returns the classless routes of a message; without any the default route via its router. */
  static List<Route> of(IpPrefix address, DhcpMessage message) {
    DhcpRoutes read = new DhcpRoutes(address);
    byte[] classless = message.options().get(DhcpMessage.CLASSLESS_ROUTES);
    if (classless == null) {
      message.addresses(DhcpMessage.ROUTER).stream()
          .filter(DhcpLease::isUnicast)
          .limit(1)
          .forEach(router -> read.add(ALL, router));
    } else {
      read.classless(classless);
    }
    return List.copyOf(read.routes.values());
  }

  /** Reads option 121: for each route the prefix length, its significant bytes, the gateway. */
  private void classless(byte[] option) {
    int at = 0;
    while (at < option.length) {
      int length = Byte.toUnsignedInt(option[at++]);
      int significant = (length + Byte.SIZE - 1) / Byte.SIZE;
      if (length > Integer.SIZE || at + significant + Integer.BYTES > option.length) {
        return; // The rest cannot be read either.
      }
      byte[] destination = Arrays.copyOf(Arrays.copyOfRange(option, at, at + significant), 4);
      at += significant;
      Inet4Address gateway =
          DhcpMessage.address(Arrays.copyOfRange(option, at, at + Integer.BYTES));
      at += Integer.BYTES;
      add(new IpPrefix(DhcpMessage.address(destination), length).network(), gateway);
    }
  }

  private void add(IpPrefix destination, Inet4Address gateway) {
    boolean onLink = gateway.equals(DhcpMessage.NONE);
    if (routes.size() < MOST
        && isSafe(destination)
        && (onLink || isReachable(gateway))
        && !routes.containsKey(destination)) {
      routes.put(
          destination,
          new Route(
              destination,
              onLink ? "" : gateway.getHostAddress(),
              address.address().getHostAddress(),
              0));
    }
  }

  /** Returns whether a destination lies neither within 127/8 nor among the groups. */
  private static boolean isSafe(IpPrefix destination) {
    int first = Byte.toUnsignedInt(destination.address().getAddress()[0]);
    return first != 127 && first < 224;
  }

  /** Returns whether the interface's network or an earlier route without gateway has a gateway. */
  private boolean isReachable(Inet4Address gateway) {
    return DhcpLease.isUnicast(gateway)
        && !gateway.equals(address.address())
        && (covers(address.network(), gateway)
            || routes.values().stream()
                .anyMatch(
                    route -> route.gateway().isEmpty() && covers(route.destination(), gateway)));
  }

  private static boolean covers(IpPrefix network, Inet4Address one) {
    return new IpPrefix(one, network.length()).network().equals(network);
  }
}
