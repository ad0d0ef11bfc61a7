package dev.polis.pki;

import java.security.PrivateKey;
import java.security.cert.X509Certificate;

/**
 * Holds a user's private key, certificate and the cluster's CAs. The constructor ensures that the
 * parts match, as in {@link NodeCredentials}.
 *
 * @param privateKey the user's Ed25519 private key
 * @param certificate the user's certificate
 * @param ca the CAs that the cluster trusts
 */
public record UserCredentials(PrivateKey privateKey, X509Certificate certificate, CaBundle ca) {
  /** Refuses parts that do not match ({@link PkiException}, {@link IdentityException}). */
  public UserCredentials {
    String user = Identity.verifyUser(certificate, ca.issuerOf(certificate));
    if (!Ed25519.match(privateKey, certificate.getPublicKey())) {
      throw new PkiException(
          "the private key does not belong to the certificate of user \"" + user + "\"");
    }
  }

  /** Makes credentials of a cluster with one CA. */
  public UserCredentials(PrivateKey privateKey, X509Certificate certificate, X509Certificate ca) {
    this(privateKey, certificate, CaBundle.of(ca));
  }

  /**
   * Reads credentials from their three PEM files; the key may have either form of {@link OwnerKey}.
   */
  public static UserCredentials fromPem(String key, String certificate, String ca) {
    return new UserCredentials(
        OwnerKey.read(key), Pem.certificate(certificate), CaBundle.fromPem(ca));
  }

  /** Returns the user's name. */
  public String user() {
    return Identity.verifyUser(certificate, ca.issuerOf(certificate));
  }

  /** Returns the user's identity for TLS connections. */
  public TlsIdentity tls() {
    return TlsIdentity.of(privateKey, certificate);
  }

  @Override
  public String toString() {
    return "UserCredentials[" + user() + ", <secret key>]";
  }
}
