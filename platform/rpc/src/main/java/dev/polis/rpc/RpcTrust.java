package dev.polis.rpc;

import dev.polis.pki.CaBundle;
import dev.polis.pki.NodeId;
import dev.polis.pki.TlsTrust;
import java.security.cert.X509Certificate;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
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
   * Accepts a node of the cluster with this CA, if it is the one that the client knows.
   *
   * @param source the CA and its revocation list
   * @param known returns the node that is meant, when it gets the id of the node that answers
   */
  record Known(TlsTrust.Source source, UnaryOperator<NodeId> known) implements RpcTrust {}

  /**
   * Accepts any peer. It serves for the first contact, when the client does not know the cluster's
   * CA yet. Send no secret over such a channel.
   */
  record Anybody() implements RpcTrust {}

  /** Returns the trust in any node of the cluster with this CA. */
  static RpcTrust cluster(X509Certificate ca) {
    return cluster(CaBundle.of(ca));
  }

  /** Returns the trust in any node of the cluster with these CAs. */
  static RpcTrust cluster(CaBundle ca) {
    return new Cluster(TlsTrust.Source.of(ca));
  }

  /** Returns the trust in any node of the cluster, by its CAs at each connection. */
  static RpcTrust cluster(Supplier<CaBundle> newest) {
    return new Cluster(TlsTrust.Source.of(newest, Optional::empty));
  }

  /** Returns the trust in one node of the cluster with this CA. */
  static RpcTrust node(X509Certificate ca, NodeId node) {
    return node(CaBundle.of(ca), node);
  }

  /** Returns the trust in one node of the cluster with these CAs. */
  static RpcTrust node(CaBundle ca, NodeId node) {
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
      case Known(TlsTrust.Source source, UnaryOperator<NodeId> known) ->
          TlsTrust.knownNode(source, known);
      case Anybody anybody -> TlsTrust.anyKey();
    };
  }

  /**
   * Returns the trust manager for connections to an endpoint: of the nodes that this trust accepts,
   * it accepts the one that the connection names.
   *
   * @throws IllegalStateException if this trust knows no cluster
   */
  default X509ExtendedTrustManager endpointManager() {
    return switch (this) {
      case Cluster(TlsTrust.Source source) -> TlsTrust.namedNode(source);
      case Known(TlsTrust.Source source, UnaryOperator<NodeId> _) -> TlsTrust.namedNode(source);
      case Node one -> manager();
      case Anybody anybody ->
          throw new IllegalStateException(
              "a client that accepts any peer cannot require one node; give it the CA of the cluster");
    };
  }
}
