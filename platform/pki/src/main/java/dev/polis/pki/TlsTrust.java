package dev.polis.pki;

import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Decides whether one side of a TLS connection accepts its peer's certificate. The identity of a
 * cluster's peer is in its certificate, not in its host name, so no check uses host names (the
 * JDK's own check stays off while no endpoint identification algorithm is set).
 *
 * <p>Each handshake reads the CAs and the revocation list, and no session is resumed without a
 * handshake, so that a change takes effect with the next connection. The owner of an open
 * connection has to close it. Instances are safe for any thread.
 */
public final class TlsTrust extends X509ExtendedTrustManager {
  /** Checks a peer's certificate. */
  @FunctionalInterface
  private interface Check {
    /**
     * @param named the name of the server for which the client made the connection; empty on the
     *     side of the server
     */
    void accept(X509Certificate peer, Optional<String> named) throws PkiException;
  }

  /** Supplies the CAs, the revocation list and the time for checks of certificates. */
  public static final class Source {
    private final Supplier<CaBundle> ca;
    private final Supplier<Optional<Crl>> crl;
    private final InstantSource clock;

    private Source(Supplier<CaBundle> ca, Supplier<Optional<Crl>> crl, InstantSource clock) {
      this.ca = ca;
      this.crl = crl;
      this.clock = clock;
    }

    /** Returns a source with a fixed CA, no revocation list and the system's clock. */
    public static Source of(X509Certificate ca) {
      return of(CaBundle.of(ca));
    }

    /** Returns a source with fixed CAs, no revocation list and the system's clock. */
    public static Source of(CaBundle ca) {
      return of(() -> ca, Optional::empty);
    }

    /** Returns a source with changing CAs and revocation list; the list may be absent at first. */
    public static Source of(Supplier<CaBundle> ca, Supplier<Optional<Crl>> crl) {
      return new Source(ca, crl, InstantSource.system());
    }

    /** Returns the same source on another clock. */
    public Source withClock(InstantSource other) {
      return new Source(ca, crl, other);
    }

    private X509Certificate issuerOf(X509Certificate peer) {
      return ca.get().issuerOf(peer);
    }

    private void checkFresh(X509Certificate peer) {
      Instant now = clock.instant();
      if (Renewal.of(peer).invalid(now)) {
        throw new IdentityException(
            "certificate %s is valid from %s to %s, it is now %s; renew it or correct the clock"
                .formatted(
                    peer.getSubjectX500Principal(),
                    peer.getNotBefore().toInstant(),
                    peer.getNotAfter().toInstant(),
                    now));
      }
      Optional<Crl> list = crl.get();
      if (list.filter(known -> known.revokes(peer)).isPresent()) {
        throw new IdentityException(
            "certificate %s is revoked".formatted(peer.getSubjectX500Principal()));
      }
      if (list.filter(known -> known.revokes(issuerOf(peer))).isPresent()) {
        throw new IdentityException(
            "certificate %s is of a CA that the cluster has retired; get a new one"
                .formatted(peer.getSubjectX500Principal()));
      }
    }

    /**
     * Checks the content, lifetime and revocation of a certificate, and returns its identity.
     *
     * @throws IdentityException naming its fault
     */
    public Identity verify(X509Certificate peer) {
      Identity identity = Identity.verify(peer, issuerOf(peer));
      checkFresh(peer);
      return identity;
    }
  }

  private final Check check;

  private TlsTrust(Check check) {
    this.check = check;
  }

  /**
   * Accepts any single Ed25519 certificate, also a self-signed one, for ports that are open to
   * strangers. The handshake proves only possession of the key; the server must call {@link
   * Source#verify} before it acts for the peer.
   */
  public static TlsTrust anyKey() {
    return new TlsTrust((peer, _) -> requireEd25519(peer));
  }

  /** Accepts nodes and users of the cluster. */
  public static TlsTrust member(Source source) {
    return new TlsTrust((peer, _) -> source.verify(peer));
  }

  /** Accepts any node of the cluster. */
  public static TlsTrust anyNode(Source source) {
    return new TlsTrust((peer, _) -> requireNode(source, peer));
  }

  /** Accepts one node of the cluster. */
  public static TlsTrust node(Source source, NodeId wanted) {
    return new TlsTrust((peer, _) -> requireNode(source, peer, wanted));
  }

  /**
   * Accepts the one node of the cluster that the client named when it made the connection: the host
   * of the connection's engine is the id of the node. Refuses each connection without such a name.
   */
  public static TlsTrust namedNode(Source source) {
    return new TlsTrust(
        (peer, named) ->
            requireNode(
                source,
                peer,
                named
                    .filter(NodeId::matches)
                    .map(NodeId::parse)
                    .orElseThrow(
                        () ->
                            new IdentityException(
                                "this connection names no node that it means to reach, so no certificate is accepted; dial an endpoint with the id of a node"))));
  }

  /**
   * Accepts a node of the cluster that the operator of this program knows.
   *
   * @param known returns the node that is meant, when it gets the id of the node that answers
   */
  public static TlsTrust knownNode(Source source, UnaryOperator<NodeId> known) {
    return new TlsTrust(
        (peer, _) -> {
          NodeId found = requireNode(source, peer);
          requireSame(known.apply(found), found);
        });
  }

  /** Accepts each certificate of this authority, whatever its names, such as etcd's. */
  public static TlsTrust authority(Source source) {
    return new TlsTrust(
        (peer, _) -> {
          Identity.verifySignedBy(peer, source.issuerOf(peer));
          source.checkFresh(peer);
        });
  }

  /**
   * Accepts a server with a certificate of this authority for the DNS name, such as an API server.
   */
  public static TlsTrust server(Source source, String name) {
    return new TlsTrust(
        (peer, _) -> {
          Identity.verifyServer(peer, source.issuerOf(peer), name);
          source.checkFresh(peer);
        });
  }

  private static NodeId requireNode(Source source, X509Certificate peer) {
    NodeId id = Identity.verifyNode(peer, source.issuerOf(peer));
    source.checkFresh(peer);
    return id;
  }

  private static void requireNode(Source source, X509Certificate peer, NodeId wanted) {
    requireSame(wanted, requireNode(source, peer));
  }

  private static void requireSame(NodeId wanted, NodeId found) {
    if (!found.equals(wanted)) {
      throw new WrongNodeException(wanted, found);
    }
  }

  private static void requireEd25519(X509Certificate peer) {
    if (!Ed25519.is(peer.getPublicKey())) {
      throw new IdentityException(
          "peer presents a key of "
              + peer.getPublicKey().getAlgorithm()
              + ", only Ed25519 is taken");
    }
  }

  private static void forbidResumption(Socket socket) {
    if (socket instanceof SSLSocket tls) {
      forbidResumption(tls.getHandshakeSession());
    }
  }

  /**
   * Prevents resumption of the session, which would bypass the trust manager and outlive expiry and
   * revocation.
   */
  private static void forbidResumption(SSLSession session) {
    if (session != null) {
      session.invalidate();
    }
  }

  private static Optional<String> named(SSLEngine engine) {
    return engine.getUseClientMode() ? Optional.ofNullable(engine.getPeerHost()) : Optional.empty();
  }

  private void check(X509Certificate[] chain) throws CertificateException {
    check(chain, Optional.empty());
  }

  private void check(X509Certificate[] chain, Optional<String> named) throws CertificateException {
    if (chain.length != 1) {
      throw new CertificateException(
          "peer presents " + chain.length + " certificates, exactly one is taken");
    }
    try {
      requireEd25519(chain[0]);
      check.accept(chain[0], named);
    } catch (PkiException e) {
      throw new CertificateException(e.getMessage(), e);
    }
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String authType)
      throws CertificateException {
    check(chain);
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String authType, Socket socket)
      throws CertificateException {
    forbidResumption(socket);
    check(chain);
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
      throws CertificateException {
    forbidResumption(engine.getHandshakeSession());
    check(chain);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String authType)
      throws CertificateException {
    check(chain);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String authType, Socket socket)
      throws CertificateException {
    forbidResumption(socket);
    check(chain);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
      throws CertificateException {
    forbidResumption(engine.getHandshakeSession());
    check(chain, named(engine));
  }

  /** Returns no issuers, since the name of the CA would reveal it to strangers. */
  @Override
  public X509Certificate[] getAcceptedIssuers() {
    return new X509Certificate[0];
  }
}
