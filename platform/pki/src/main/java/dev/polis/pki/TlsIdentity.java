package dev.polis.pki;

import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.List;

/**
 * Holds the private key and the certificate chain of one side of a TLS connection, leaf first.
 *
 * @param privateKey the leaf's private key
 * @param chain the leaf, and its issuers if the peer lacks them
 */
public record TlsIdentity(PrivateKey privateKey, List<X509Certificate> chain) {
  /** Refuses an empty chain, and a key that does not match the leaf. */
  public TlsIdentity {
    chain = List.copyOf(chain);
    if (chain.isEmpty()) {
      throw new PkiException("a TLS identity needs at least its own certificate");
    }
    if (!Ed25519.match(privateKey, chain.getFirst().getPublicKey())) {
      throw new PkiException(
          "the private key does not belong to certificate "
              + chain.getFirst().getSubjectX500Principal());
    }
  }

  /** Returns an identity of a single certificate and its key. */
  public static TlsIdentity of(PrivateKey privateKey, X509Certificate certificate) {
    return new TlsIdentity(privateKey, List.of(certificate));
  }

  /** Returns the certificate of the key. */
  public X509Certificate certificate() {
    return chain.getFirst();
  }

  @Override
  public String toString() {
    return "TlsIdentity[" + certificate().getSubjectX500Principal() + ", <secret key>]";
  }
}
