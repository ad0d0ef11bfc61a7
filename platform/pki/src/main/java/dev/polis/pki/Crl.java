package dev.polis.pki;

import java.io.ByteArrayInputStream;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.cert.CRLException;
import java.security.cert.X509CRL;
import java.security.cert.X509CRLEntry;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;
import org.bouncycastle.asn1.ASN1Integer;
import org.bouncycastle.asn1.ASN1OctetString;
import org.bouncycastle.asn1.x509.Extension;

/** Lists the serial numbers that one authority has revoked. Immutable. */
public final class Crl {
  private final X509CRL list;
  private final byte[] der;
  private final Set<BigInteger> serials;

  private Crl(X509CRL list, byte[] der) {
    this.list = list;
    this.der = der;
    var entries = list.getRevokedCertificates();
    this.serials =
        entries == null
            ? Set.of()
            : entries.stream()
                .map(X509CRLEntry::getSerialNumber)
                .collect(Collectors.toUnmodifiableSet());
  }

  /** Reads a list from DER; {@link #verify} checks its signature. */
  public static Crl parse(byte[] der) {
    try {
      var list = (X509CRL) NamelessCertificates.jdk().generateCRL(new ByteArrayInputStream(der));
      return new Crl(list, der.clone());
    } catch (CRLException e) {
      throw new PkiException("the " + der.length + " bytes are no revocation list in DER", e);
    }
  }

  /**
   * Checks that the authority signed this list.
   *
   * @return this
   * @throws IdentityException if it did not
   */
  public Crl verify(X509Certificate ca) {
    try {
      list.verify(ca.getPublicKey());
      return this;
    } catch (GeneralSecurityException e) {
      throw new IdentityException(
          "revocation list of %s is not signed by %s"
              .formatted(list.getIssuerX500Principal(), ca.getSubjectX500Principal()),
          e);
    }
  }

  /** Returns whether the authority signed this list. */
  boolean isSignedBy(X509Certificate ca) {
    try {
      list.verify(ca.getPublicKey());
      return true;
    } catch (GeneralSecurityException other) {
      return false;
    }
  }

  /**
   * Checks that one of the authorities signed this list.
   *
   * @return this
   * @throws IdentityException if none of them did
   */
  public Crl verify(CaBundle ca) {
    return verify(ca.signerOf(this));
  }

  /**
   * Returns whether the certificate is on the list. The caller ensures that both come from the same
   * authority.
   */
  public boolean revokes(X509Certificate certificate) {
    return serials.contains(certificate.getSerialNumber());
  }

  /** Returns the revoked serial numbers. */
  public Set<BigInteger> serials() {
    return serials;
  }

  /** Returns the number of this list; a later list of the same authority has a higher one. */
  public BigInteger number() {
    byte[] wrapped = list.getExtensionValue(Extension.cRLNumber.getId());
    return wrapped == null
        ? BigInteger.ZERO
        : ASN1Integer.getInstance(ASN1OctetString.getInstance(wrapped).getOctets()).getValue();
  }

  /** Returns the DER form. */
  public byte[] der() {
    return der.clone();
  }

  /** Returns the PEM form, as etcd reads it. */
  public String pem() {
    return Pem.encode("X509 CRL", der);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Crl crl && Arrays.equals(der, crl.der);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(der);
  }

  @Override
  public String toString() {
    return "Crl["
        + list.getIssuerX500Principal()
        + " #"
        + number()
        + ", "
        + serials.size()
        + " revoked]";
  }
}
