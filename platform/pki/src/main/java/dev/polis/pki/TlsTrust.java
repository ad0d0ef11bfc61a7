package dev.polis.pki;

import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.Supplier;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Decides whether one side of a TLS connection accepts its peer's certificate. Peers of a cluster
 * are known by identity, not by the name in the address they are dialled at, so none of these looks
 * at host names (the JDK's own check stays off as long as no endpoint identification algorithm is
 * set).
 *
 * <p>CA and revocation list are asked for at every handshake, and no session is resumed without
 * one, so that a change takes effect with the next connection. Connections that stand already are
 * the owner's to close. Instances are safe for any thread.
 */
public final class TlsTrust extends X509ExtendedTrustManager {
  /** Checks a peer's certificate. */
  @FunctionalInterface
  private interface Check {
    void accept(X509Certificate peer) throws PkiException;
  }

  /** Supplies the CA, the revocation list and the time that certificates are checked against. */
  public static final class Source {
    private final Supplier<X509Certificate> ca;
    private final Supplier<Optional<Crl>> crl;
    private final InstantSource clock;

    private Source(Supplier<X509Certificate> ca, Supplier<Optional<Crl>> crl, InstantSource clock) {
      this.ca = ca;
      this.crl = crl;
      this.clock = clock;
    }

    /** Returns a source with a fixed CA, no revocation list and the system's clock. */
    public static Source of(X509Certificate ca) {
      return new Source(() -> ca, Optional::empty, InstantSource.system());
    }

    /**
     * Returns a source whose CA and revocation list may change; the list may be absent until it is
     * known.
     */
    public static Source of(Supplier<X509Certificate> ca, Supplier<Optional<Crl>> crl) {
      return new Source(ca, crl, InstantSource.system());
    }

    /** Returns the same on another clock. */
    public Source withClock(InstantSource other) {
      return new Source(ca, crl, other);
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
      if (crl.get().filter(list -> list.revokes(peer)).isPresent()) {
        throw new IdentityException(
            "certificate %s is revoked".formatted(peer.getSubjectX500Principal()));
      }
    }

    /**
     * Returns whose certificate this is, after checking its content, lifetime and revocation.
     *
     * @throws IdentityException naming what is wrong with it
     */
    public Identity verify(X509Certificate peer) {
      Identity identity = Identity.verify(peer, ca.get());
      checkFresh(peer);
      return identity;
    }
  }

  private final Check check;

  private TlsTrust(Check check) {
    this.check = check;
  }

  /**
   * Accepts any single Ed25519 certificate, also a self-signed one; for places where strangers may
   * come. The handshake proves possession of its key and nothing else; who the peer is must be
   * asked with {@link Source#verify} before acting for it.
   */
  public static TlsTrust anyKey() {
    return new TlsTrust(TlsTrust::requireEd25519);
  }

  /** Accepts nodes and users of the cluster. */
  public static TlsTrust member(Source source) {
    return new TlsTrust(source::verify);
  }

  /** Accepts any node of the cluster. */
  public static TlsTrust anyNode(Source source) {
    return new TlsTrust(peer -> requireNode(source, peer));
  }

  /** Accepts one node of the cluster. */
  public static TlsTrust node(Source source, NodeId wanted) {
    return new TlsTrust(
        peer -> {
          NodeId found = requireNode(source, peer);
          if (!found.equals(wanted)) {
            throw new IdentityException("dialled node " + wanted + ", but " + found + " answered");
          }
        });
  }

  /** Accepts every certificate of this authority, whatever its names, such as those of etcd. */
  public static TlsTrust authority(Source source) {
    return new TlsTrust(
        peer -> {
          Identity.verifySignedBy(peer, source.ca.get());
          source.checkFresh(peer);
        });
  }

  /** Accepts a server that this authority has given the DNS name, such as an API server. */
  public static TlsTrust server(Source source, String name) {
    return new TlsTrust(
        peer -> {
          Identity.verifyServer(peer, source.ca.get(), name);
          source.checkFresh(peer);
        });
  }

  private static NodeId requireNode(Source source, X509Certificate peer) {
    NodeId id = Identity.verifyNode(peer, source.ca.get());
    source.checkFresh(peer);
    return id;
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
   * Prevents resumption of the session: a resumed one is not shown to a trust manager and would
   * outlive expiry and revocation.
   */
  private static void forbidResumption(SSLSession session) {
    if (session != null) {
      session.invalidate();
    }
  }

  private void check(X509Certificate[] chain) throws CertificateException {
    if (chain.length != 1) {
      throw new CertificateException(
          "peer presents " + chain.length + " certificates, exactly one is taken");
    }
    try {
      requireEd25519(chain[0]);
      check.accept(chain[0]);
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
    check(chain);
  }

  /** Returns no issuers: naming the CA would reveal it to strangers. */
  @Override
  public X509Certificate[] getAcceptedIssuers() {
    return new X509Certificate[0];
  }
}
