package dev.polis.kubernetes.settings;

import dev.polis.api.kubernetes.LoopbackLink;
import java.net.InetAddress;

/**
 * Gives the addresses at which Kubernetes' parts on one node reach each other.
 *
 * <p>A node at a loopback address, as on a developer's machine, cannot use this address: an API
 * server refuses to announce it, and no process in another network namespace reaches it. Such a
 * node gets two addresses of a range that is reserved for tests of networks (RFC 2544), derived
 * from its own: 127.a.b.c has the pair number b × 256 + c. Any other node uses its own address for
 * both.
 *
 * @param host the address of the node itself: the API server and the load balancer
 * @param worker the address of the worker's sandbox: the kubelet and node ports
 */
public record KubernetesAddresses(InetAddress host, InetAddress worker) {

  /** Derives the addresses from the node's address. */
  public static KubernetesAddresses of(InetAddress node, AddressRange links) {
    if (!node.isLoopbackAddress()) {
      return new KubernetesAddresses(node, node);
    }
    LoopbackLink places = LoopbackLink.of(node);
    return new KubernetesAddresses(links.at(places.host()), links.at(places.worker()));
  }

  /** Returns whether the addresses are derived, so that a network device needs them. */
  public boolean derived() {
    return !host.equals(worker);
  }
}
