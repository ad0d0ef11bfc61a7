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
 * Holds the decisions about this node's worker, which precede the start of its processes.
 *
 * @param node this node, whose id is also the name of its Node object
 * @param addresses the addresses of the node and of its sandbox
 * @param isolation the isolation of the worker from the machine
 */
record WorkerPlan(
    NodeId node,
    KubernetesSettings settings,
    KubernetesPrograms programs,
    KubernetesAddresses addresses,
    Isolation isolation) {

  /** The port of the kubelet for the API server. */
  static final int KUBELET_PORT = 10_250;

  /** The address of the node's own DNS server, the same in each sandbox. */
  private static final InetAddress DNS = InetAddress.ofLiteral("169.254.77.53");

  // With the letter before them, as many digits as a sandbox's name may have.
  private static final int NAME_DIGITS = 7;

  /** Returns the address of the DNS server for Pods. */
  InetAddress dns() {
    return DNS;
  }

  /** Returns the DNS domain of Services. */
  String domain() {
    return settings.domain();
  }

  /** Returns the address of a worker's local load balancer. */
  static InetSocketAddress balancer(
      KubernetesSettings settings, KubernetesAddresses addresses, Isolation isolation) {
    InetAddress host =
        isolation == Isolation.MACHINE ? InetAddress.ofLiteral("127.0.0.1") : addresses.host();
    return new InetSocketAddress(host, settings.balancerPort());
  }

  /** Returns the URL of the API server for the worker's programs. */
  URI balancer() {
    InetSocketAddress at = balancer(settings, addresses, isolation);
    return URI.create("https://%s:%d".formatted(at.getAddress().getHostAddress(), at.getPort()));
  }

  /** Returns the path of this node's Node object. */
  String nodePath() {
    return "/api/v1/nodes/" + node;
  }

  /** Returns the wanted sandbox. */
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
