package dev.polis.pki;

import java.net.InetSocketAddress;
import java.util.Objects;

/**
 * Names a node and the address of one of its listeners. A client that dials the endpoint accepts
 * the certificate of this node alone, since another machine may have the address by now.
 *
 * @param node the node
 * @param address the address of its listener
 */
public record NodeEndpoint(NodeId node, InetSocketAddress address) {
  /** Refuses an endpoint that lacks a part. */
  public NodeEndpoint {
    Objects.requireNonNull(node, "node");
    Objects.requireNonNull(address, "address");
  }

  @Override
  public String toString() {
    return node + " at " + address;
  }
}
