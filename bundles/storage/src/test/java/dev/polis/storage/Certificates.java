package dev.polis.storage;

import dev.polis.pki.CertificateAuthority;
import java.security.cert.X509Certificate;

/** Makes certificates for the store, with any signer. */
final class Certificates {

  private Certificates() {}

  static X509Certificate ca() {
    return CertificateAuthority.create("test CA").certificate();
  }
}
