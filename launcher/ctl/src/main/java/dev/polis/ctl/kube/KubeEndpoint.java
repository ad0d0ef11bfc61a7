package dev.polis.ctl.kube;

import dev.polis.ctl.node.NodeRows;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlOptions;
import dev.polis.ctl.session.ExitCode;
import dev.polis.wire.api.Node;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;

/**
 * Names a node at which Kubernetes is reached.
 *
 * @param node its id, which is also the name in its certificate
 * @param address of the node
 * @param port of the proxy that authenticates users
 */
record KubeEndpoint(String node, String address, int port) {

  static final String CONTROLLER = "KubernetesController";
  static final String WORKER = "KubernetesWorker";

  /** The default port of a controller for clients. */
  static final int PORT = 6444;

  private static final String PREFIX = "metropolis-";

  /** Enough of an id to tell the nodes of one cluster apart. */
  private static final int SHORT = 8;

  /** Returns the controllers among these nodes that have an address, in their order. */
  static List<KubeEndpoint> of(List<Node> nodes, int port) {
    return nodes.stream()
        .filter(node -> NodeRows.has(node, CONTROLLER))
        .filter(node -> !node.getStatus().getExternalAddress().isEmpty())
        .map(node -> new KubeEndpoint(node.getId(), node.getStatus().getExternalAddress(), port))
        .toList();
  }

  /** Returns the remedy for a cluster without controllers. */
  static CtlException none(CtlOptions options) {
    return new CtlException(
        ExitCode.NOT_FOUND,
        "no node of this cluster has the role %s and an address; give it to one: %s"
            .formatted(CONTROLLER, options.command("node role add NODE " + CONTROLLER)));
  }

  /** Returns the part of the node's id that names it in a kubeconfig. */
  String shortName() {
    String id = node.startsWith(PREFIX) ? node.substring(PREFIX.length()) : node;
    return id.substring(0, Math.min(SHORT, id.length()));
  }

  URI uri() {
    InetAddress literal = new InetSocketAddress(address, port).getAddress();
    return URI.create(
        "https://%s:%d"
            .formatted(literal instanceof Inet6Address ? "[" + address + "]" : address, port));
  }
}
