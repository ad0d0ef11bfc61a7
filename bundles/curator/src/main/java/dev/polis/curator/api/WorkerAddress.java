package dev.polis.curator.api;

import dev.polis.api.kubernetes.LoopbackLink;
import dev.polis.curator.record.Refusal;
import dev.polis.wire.curator.stored.Node;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Selects the addresses for which the curator may certify a node's kubelet: the node's own, and,
 * for a node at a loopback address, that of its sandbox, which the node names.
 *
 * <p>A node may not name another address: it could then answer for another node's kubelet, or for
 * the API server. Its own address is the reported one, which {@link ReportedAddress} has compared
 * with the source of the report. The nodes' configuration has the range of sandboxes, with at least
 * 2^17 addresses; the last 17 bits of a sandbox's address are its place by {@link LoopbackLink}.
 */
final class WorkerAddress {

  private static final int PLACE = (1 << LoopbackLink.BITS) - 1;

  private WorkerAddress() {}

  /**
   * Returns the addresses.
   *
   * @param named the sandbox's address in the node's request; empty without a sandbox
   * @throws dev.polis.rpc.RpcException if the node has not reported an address, or may not have the
   *     named one
   */
  static Set<InetAddress> all(Node node, String named) {
    Set<InetAddress> addresses = new LinkedHashSet<>();
    InetAddress own = own(node);
    addresses.add(own);
    if (!named.isEmpty()) {
      addresses.add(sandbox(own, named));
    }
    return addresses;
  }

  private static InetAddress own(Node node) {
    String own = node.getStatus().getExternalAddress();
    if (own.isEmpty()) {
      throw Refusal.precondition(
          "node %s has not reported its address yet; call again in a moment", node.getId());
    }
    return InetAddress.ofLiteral(own);
  }

  private static InetAddress sandbox(InetAddress own, String named) {
    InetAddress address = parse(named);
    if (address.equals(own)) {
      return address;
    }
    boolean mayHaveOne = own.isLoopbackAddress() && own instanceof Inet4Address;
    if (!mayHaveOne
        || !(address instanceof Inet4Address)
        || address.isLoopbackAddress()
        || (number(address) & PLACE) != LoopbackLink.of(own).worker()) {
      throw Refusal.denied(
          "worker_address %s does not belong to this node, whose address is %s; leave it empty, or name the address of its sandbox",
          named, own.getHostAddress());
    }
    return address;
  }

  private static InetAddress parse(String named) {
    try {
      return InetAddress.ofLiteral(named);
    } catch (IllegalArgumentException e) {
      throw Refusal.invalid("worker_address \"%s\" is not an IPv4 or IPv6 address", named);
    }
  }

  private static int number(InetAddress address) {
    return ByteBuffer.wrap(address.getAddress()).getInt();
  }
}
