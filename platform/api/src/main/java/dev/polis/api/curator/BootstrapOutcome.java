package dev.polis.api.curator;

import java.security.cert.X509Certificate;
import java.util.Objects;

/**
 * Holds the certificates of a new cluster's first node.
 *
 * @param clusterCa the certificate of the cluster's authority
 * @param node the certificate of the node, signed by it
 */
public record BootstrapOutcome(X509Certificate clusterCa, X509Certificate node) {
  public BootstrapOutcome {
    Objects.requireNonNull(clusterCa, "clusterCa");
    Objects.requireNonNull(node, "node");
  }
}
