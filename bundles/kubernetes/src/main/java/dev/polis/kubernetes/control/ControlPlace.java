package dev.polis.kubernetes.control;

import dev.polis.kubernetes.settings.KubernetesAddresses;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.pki.NodeId;
import java.net.InetAddress;
import java.net.URI;
import java.util.LinkedHashSet;
import java.util.List;

/**
 * Holds the addresses of the control plane's programs on one node.
 *
 * @param node the node
 * @param address the node's address
 * @param server the address of the API server's listener
 * @param advertised the API server's address for the cluster
 * @param port the API server's port
 */
record ControlPlace(
    NodeId node, InetAddress address, InetAddress server, InetAddress advertised, int port) {

  private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");

  /** Returns the place of a node that has a host address. */
  static ControlPlace of(NodeId node, InetAddress address, KubernetesSettings settings) {
    InetAddress host = KubernetesAddresses.of(address, settings.links()).host();
    return new ControlPlace(node, address, host, host, settings.apiPort());
  }

  /**
   * Returns the same place with the API server at the node's own address, for a node without the
   * host address.
   */
  ControlPlace withoutHostAddress() {
    return new ControlPlace(node, address, address, advertised, port);
  }

  /**
   * Returns the address of programs that only this node calls: the node's loopback address if it
   * has one, since several nodes may share a machine.
   */
  InetAddress local() {
    return address.isLoopbackAddress() ? address : LOOPBACK;
  }

  /** Returns all addresses of the API server for clients, besides that of its Service. */
  List<InetAddress> all() {
    return List.copyOf(new LinkedHashSet<>(List.of(LOOPBACK, address, server, advertised)));
  }

  /** Returns the API server's address for clients of this node. */
  URI api() {
    return https(server, port);
  }

  /** Returns an HTTPS address. */
  static URI https(InetAddress host, int port) {
    String text = host.getHostAddress();
    return URI.create(
        "https://%s:%d".formatted(text.indexOf(':') < 0 ? text : "[" + text + "]", port));
  }
}
