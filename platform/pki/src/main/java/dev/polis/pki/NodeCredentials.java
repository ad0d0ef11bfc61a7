package dev.polis.pki;

import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.cert.X509Certificate;

/**
 * Holds the node's private key, its certificate from the cluster, and the cluster's CAs. The
 * constructor ensures that the parts match. {@link Renewal} checks the lifetime, so that an expired
 * node can still load its credentials and renew them.
 *
 * @param privateKey the node's Ed25519 private key
 * @param certificate the node's certificate
 * @param ca the CAs that the cluster trusts
 */
public record NodeCredentials(PrivateKey privateKey, X509Certificate certificate, CaBundle ca) {
  /** Refuses parts that do not match ({@link PkiException}, {@link IdentityException}). */
  public NodeCredentials {
    NodeId id = Identity.verifyNode(certificate, ca.issuerOf(certificate));
    if (!Ed25519.match(privateKey, certificate.getPublicKey())) {
      throw new PkiException("the private key does not belong to the certificate of node " + id);
    }
  }

  /** Makes credentials of a cluster with one CA. */
  public NodeCredentials(PrivateKey privateKey, X509Certificate certificate, X509Certificate ca) {
    this(privateKey, certificate, CaBundle.of(ca));
  }

  /** Reads credentials from their three PEM files. */
  public static NodeCredentials fromPem(String key, String certificate, String ca) {
    return new NodeCredentials(
        Pem.privateKey(key), Pem.certificate(certificate), CaBundle.fromPem(ca));
  }

  /** Returns the node's id. */
  public NodeId id() {
    return NodeId.of(certificate.getPublicKey());
  }

  /** Returns the node's public key. */
  public PublicKey publicKey() {
    return certificate.getPublicKey();
  }

  /** Returns the node's identity for TLS connections. */
  public TlsIdentity tls() {
    return TlsIdentity.of(privateKey, certificate);
  }

  /** Returns the same key and CA with a renewed certificate. */
  public NodeCredentials renewed(X509Certificate newer) {
    return new NodeCredentials(privateKey, newer, ca);
  }

  /** Returns the same key and certificate with other CAs, of which one issued the certificate. */
  public NodeCredentials trusting(CaBundle other) {
    return new NodeCredentials(privateKey, certificate, other);
  }

  /**
   * Returns the same key and certificate with newer CAs of the cluster, and with the CA of the
   * certificate until that is renewed.
   */
  public NodeCredentials adopting(CaBundle newest) {
    return trusting(newest.issued(certificate) ? newest : newest.with(ca.issuerOf(certificate)));
  }

  @Override
  public String toString() {
    return "NodeCredentials[" + id() + ", <secret key>]";
  }
}
