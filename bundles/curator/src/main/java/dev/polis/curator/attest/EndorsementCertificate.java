package dev.polis.curator.attest;

import com.google.protobuf.ByteString;
import dev.polis.curator.record.Refusal;
import dev.polis.wire.cluster.AttestedMachine;
import java.io.ByteArrayInputStream;
import java.security.GeneralSecurityException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.security.auth.x500.X500Principal;

/** Reads certificates by which a maker says that a key is the endorsement key of its TPM. */
public final class EndorsementCertificate {

  private static final int DIRECTORY_NAME = 4;

  /** The attributes that the TCG's profile puts into the alternative name. */
  private static final Map<String, String> ATTRIBUTES =
      Map.of("2.23.133.2.1", "manufacturer", "2.23.133.2.2", "model", "2.23.133.2.3", "version");

  private EndorsementCertificate() {}

  /**
   * Reads a certificate.
   *
   * @throws CertificateException if it is none
   */
  public static X509Certificate read(byte[] der) throws CertificateException {
    return (X509Certificate)
        CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(der));
  }

  /** Writes what a certificate says of a TPM; refuses one of another key. */
  static void describe(TpmPublic endorsement, byte[] der, AttestedMachine.Builder machine) {
    if (der.length == 0) {
      return;
    }
    try {
      X509Certificate certificate = read(der);
      if (!certificate.getPublicKey().equals(endorsement.key())) {
        throw Refusal.denied(
            "attestation: the endorsement certificate, issued by \"%s\", is for another key than the"
                + " endorsement key",
            certificate.getIssuerX500Principal().getName());
      }
      machine
          .setTpm(tpm(certificate))
          .setTpmIssuer(certificate.getIssuerX500Principal().getName())
          .setEndorsementCertificate(ByteString.copyFrom(certificate.getEncoded()));
    } catch (CertificateException unreadable) {
      // Some makers mark their keys in a way that Java does not know.
      machine.setTpm("(%s)".formatted(unreadable.getMessage()));
    }
  }

  private static String tpm(X509Certificate certificate) throws CertificateException {
    return Optional.ofNullable(certificate.getSubjectAlternativeNames()).stream()
        .flatMap(Collection::stream)
        .filter(name -> name.getFirst().equals(DIRECTORY_NAME))
        .map(List::getLast)
        .map(name -> new X500Principal((String) name).getName(X500Principal.RFC2253, ATTRIBUTES))
        .findFirst()
        .orElse("of an unnamed maker");
  }

  /** Returns whether an authority has signed a certificate. */
  public static boolean isIssuedBy(X509Certificate certificate, X509Certificate authority) {
    try {
      certificate.verify(authority.getPublicKey());
      return certificate.getIssuerX500Principal().equals(authority.getSubjectX500Principal());
    } catch (GeneralSecurityException another) {
      return false;
    }
  }
}
