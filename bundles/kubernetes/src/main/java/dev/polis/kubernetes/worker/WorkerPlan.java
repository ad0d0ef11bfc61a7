package dev.polis.kubernetes.worker;

import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.SandboxRequest;
import dev.polis.kubernetes.settings.KubernetesAddresses;
import dev.polis.kubernetes.settings.KubernetesPrograms;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.pki.NodeId;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;

/**
 * Holds how this node runs its worker, decided before any process starts.
 *
 * @param node this node, whose id is also the name of its Node object
 * @param addresses of the node and of its sandbox
 * @param isolation how the worker is isolated from the machine
 */
record WorkerPlan(
    NodeId node,
    KubernetesSettings settings,
    KubernetesPrograms programs,
    KubernetesAddresses addresses,
    Isolation isolation) {

  /** The port at which the API server reaches a kubelet. */
  static final int KUBELET_PORT = 10_250;

  /** The address of the node's own DNS server, the same in each sandbox. */
  private static final InetAddress DNS = InetAddress.ofLiteral("169.254.77.53");

  // With the letter before it as many as a sandbox's name may have.
  private static final int NAME_DIGITS = 7;

  /** Returns the address of the DNS server that Pods ask. */
  InetAddress dns() {
    return DNS;
  }

  /** Returns the DNS domain of Services. */
  String domain() {
    return settings.domain();
  }

  /** Returns where the local load balancer of a worker listens. */
  static InetSocketAddress balancer(
      KubernetesSettings settings, KubernetesAddresses addresses, Isolation isolation) {
    InetAddress host =
        isolation == Isolation.MACHINE ? InetAddress.ofLiteral("127.0.0.1") : addresses.host();
    return new InetSocketAddress(host, settings.balancerPort());
  }

  /** Returns the URL by which the worker's programs reach the API server. */
  URI balancer() {
    InetSocketAddress at = balancer(settings, addresses, isolation);
    return URI.create("https://%s:%d".formatted(at.getAddress().getHostAddress(), at.getPort()));
  }

  /** Returns the path of this node's Node object. */
  String nodePath() {
    return "/api/v1/nodes/" + node;
  }

  /** Returns the sandbox that is wanted. */
  SandboxRequest sandbox(WorkerFiles files) {
    String digits = node.text().substring(NodeId.PREFIX.length());
    return new SandboxRequest(
        isolation,
        "p" + digits.substring(0, NAME_DIGITS),
        addresses.host(),
        addresses.worker(),
        files.network(),
        List.of(settings.pods().toString(), settings.services().toString()),
        List.of(files.kubelet()));
  }
}
