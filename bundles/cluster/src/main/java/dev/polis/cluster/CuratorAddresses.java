package dev.polis.cluster;

import dev.polis.rpc.HostPort;
import dev.polis.rpc.resolver.LeaderResolver;
import dev.polis.wire.common.ClusterDirectory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Reads the addresses of curators in a cluster directory. */
final class CuratorAddresses {

  private CuratorAddresses() {}

  private static Stream<String> hosts(ClusterDirectory directory) {
    return directory.getNodesList().stream()
        .flatMap(node -> node.getAddressesList().stream())
        .map(ClusterDirectory.Node.Address::getHost)
        .filter(host -> !host.isEmpty());
  }

  /**
   * Returns the addresses, in their order; nodes without one are left out.
   *
   * @throws IllegalArgumentException if a host is not an IP address; names it
   */
  static Set<InetSocketAddress> of(ClusterDirectory directory) {
    Set<InetSocketAddress> addresses = new LinkedHashSet<>();
    hosts(directory)
        .forEach(
            host ->
                addresses.add(
                    LeaderResolver.address(InetAddress.ofLiteral(host).getHostAddress())));
    return addresses;
  }

  /** Returns the same without those at this machine's own address. */
  static Set<InetSocketAddress> elsewhere(ClusterDirectory directory, InetAddress own) {
    Set<InetSocketAddress> addresses = of(directory);
    addresses.removeIf(curator -> curator.getAddress().equals(own));
    return addresses;
  }

  /** Returns addresses as people write them. */
  static String text(Set<InetSocketAddress> curators) {
    return curators.stream().map(HostPort::of).collect(Collectors.joining(", "));
  }
}
