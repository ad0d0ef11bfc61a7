package dev.polis.pki;

import java.security.PrivateKey;
import java.security.cert.X509Certificate;

/**
 * Holds a user's private key, certificate and the cluster's CA certificate. The constructor ensures
 * that the parts match, as in {@link NodeCredentials}.
 *
 * @param privateKey the user's Ed25519 private key
 * @param certificate the user's certificate
 * @param ca the certificate of the cluster's CA
 */
public record UserCredentials(
    PrivateKey privateKey, X509Certificate certificate, X509Certificate ca) {
  /** Refuses parts that do not match ({@link PkiException}, {@link IdentityException}). */
  public UserCredentials {
    String user = Identity.verifyUser(certificate, ca);
    if (!Ed25519.match(privateKey, certificate.getPublicKey())) {
      throw new PkiException(
          "the private key does not belong to the certificate of user \"" + user + "\"");
    }
  }

  /**
   * Reads credentials from their three PEM files; the key may have either form of {@link OwnerKey}.
   */
  public static UserCredentials fromPem(String key, String certificate, String ca) {
    return new UserCredentials(
        OwnerKey.read(key), Pem.certificate(certificate), Pem.certificate(ca));
  }

  /** Returns the user's name. */
  public String user() {
    return Identity.verifyUser(certificate, ca);
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
