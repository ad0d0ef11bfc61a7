package dev.polis.rpc;

import dev.polis.pki.NodeId;
import dev.polis.pki.TlsTrust;
import java.security.cert.X509Certificate;
import javax.net.ssl.X509ExtendedTrustManager;

/** States which servers a client accepts. */
public sealed interface RpcTrust {
  /**
   * Accepts any node of the cluster with this CA.
   *
   * @param source the CA, and what it revoked
   */
  record Cluster(TlsTrust.Source source) implements RpcTrust {}

  /**
   * Accepts one node of the cluster with this CA and no other.
   *
   * @param source the CA, and what it revoked
   * @param node the node
   */
  record Node(TlsTrust.Source source, NodeId node) implements RpcTrust {}

  /**
   * Accepts any peer. For the first contact, when the cluster's CA is what the client wants to
   * learn; send no secret over such a channel.
   */
  record Anybody() implements RpcTrust {}

  /** Returns the trust in any node of the cluster with this CA. */
  static RpcTrust cluster(X509Certificate ca) {
    return new Cluster(TlsTrust.Source.of(ca));
  }

  /** Returns the trust in one node of the cluster with this CA. */
  static RpcTrust node(X509Certificate ca, NodeId node) {
    return new Node(TlsTrust.Source.of(ca), node);
  }

  /** Returns the trust that accepts any peer. */
  static RpcTrust anybody() {
    return new Anybody();
  }

  /** Returns the trust manager that enforces it. */
  default X509ExtendedTrustManager manager() {
    return switch (this) {
      case Cluster cluster -> TlsTrust.anyNode(cluster.source());
      case Node one -> TlsTrust.node(one.source(), one.node());
      case Anybody anybody -> TlsTrust.anyKey();
    };
  }
}
