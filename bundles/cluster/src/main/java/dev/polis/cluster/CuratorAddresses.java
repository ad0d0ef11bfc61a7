package dev.polis.cluster;

import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.rpc.HostPort;
import dev.polis.rpc.resolver.LeaderResolver;
import dev.polis.wire.common.ClusterDirectory;
import java.net.InetAddress;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.stream.Collectors;

/** Reads the curators in a cluster directory. */
final class CuratorAddresses {

  private CuratorAddresses() {}

  /**
   * Returns the curators, in their order; nodes without an address are left out.
   *
   * @throws IllegalArgumentException if a host is not an IP address, or a node has an address and
   *     no id; names it
   */
  static Set<NodeEndpoint> of(ClusterDirectory directory) {
    Set<NodeEndpoint> curators = new LinkedHashSet<>();
    for (ClusterDirectory.Node node : directory.getNodesList()) {
      node.getAddressesList().stream()
          .map(ClusterDirectory.Node.Address::getHost)
          .filter(host -> !host.isEmpty())
          .forEach(host -> curators.add(endpoint(node.getId(), host)));
    }
    return curators;
  }

  private static NodeEndpoint endpoint(String id, String host) {
    String address = InetAddress.ofLiteral(host).getHostAddress();
    if (!NodeId.matches(id)) {
      throw new IllegalArgumentException(
          "the node at %s has the id \"%s\", which is no node id; this node calls only curators that it can tell from other nodes"
              .formatted(address, id));
    }
    return new NodeEndpoint(NodeId.parse(id), LeaderResolver.address(address));
  }

  /** Returns the same without those at this machine's own address. */
  static Set<NodeEndpoint> elsewhere(ClusterDirectory directory, InetAddress own) {
    Set<NodeEndpoint> curators = of(directory);
    curators.removeIf(curator -> curator.address().getAddress().equals(own));
    return curators;
  }

  /** Returns addresses as people write them. */
  static String text(Set<NodeEndpoint> curators) {
    return curators.stream()
        .map(NodeEndpoint::address)
        .map(HostPort::of)
        .collect(Collectors.joining(", "));
  }
}
