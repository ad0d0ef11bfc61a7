package dev.polis.rpc;

import dev.polis.pki.NodeId;
import dev.polis.pki.TlsTrust;
import java.security.cert.X509Certificate;
import javax.net.ssl.X509ExtendedTrustManager;

/** Defines which servers a client accepts. */
public sealed interface RpcTrust {
  /**
   * Accepts any node of the cluster with this CA.
   *
   * @param source the CA and its revocation list
   */
  record Cluster(TlsTrust.Source source) implements RpcTrust {}

  /**
   * Accepts one certain node of the cluster with this CA.
   *
   * @param source the CA and its revocation list
   * @param node the node
   */
  record Node(TlsTrust.Source source, NodeId node) implements RpcTrust {}

  /**
   * Accepts any peer. It serves for the first contact, when the client does not know the cluster's
   * CA yet. Send no secret over such a channel.
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

  /** Returns the trust manager that enforces this trust. */
  default X509ExtendedTrustManager manager() {
    return switch (this) {
      case Cluster cluster -> TlsTrust.anyNode(cluster.source());
      case Node one -> TlsTrust.node(one.source(), one.node());
      case Anybody anybody -> TlsTrust.anyKey();
    };
  }
}
