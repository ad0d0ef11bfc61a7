package dev.polis.storage;

import java.math.BigInteger;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Date;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/** Makes certificates for the store, with any signer. */
final class Certificates {

  private Certificates() {}

  static X509Certificate ca() {
    try {
      KeyPair pair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
      X500Name name = new X500Name("CN=test CA");
      Instant start = Instant.parse("2026-01-01T00:00:00Z");
      return new JcaX509CertificateConverter()
          .getCertificate(
              new JcaX509v3CertificateBuilder(
                      name,
                      BigInteger.ONE,
                      Date.from(start),
                      Date.from(start.plusSeconds(3600)),
                      name,
                      pair.getPublic())
                  .build(new JcaContentSignerBuilder("Ed25519").build(pair.getPrivate())));
    } catch (Exception e) {
      throw new AssertionError("cannot make a certificate", e);
    }
  }
}
