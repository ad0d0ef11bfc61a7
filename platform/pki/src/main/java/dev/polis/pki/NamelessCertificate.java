package dev.polis.pki;

import java.io.IOException;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyFactory;
import java.security.NoSuchAlgorithmException;
import java.security.NoSuchProviderException;
import java.security.Principal;
import java.security.PublicKey;
import java.security.Signature;
import java.security.SignatureException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.Date;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.security.auth.x500.X500Principal;
import org.bouncycastle.asn1.ASN1BitString;
import org.bouncycastle.asn1.ASN1Encoding;
import org.bouncycastle.asn1.ASN1Integer;
import org.bouncycastle.asn1.ASN1ObjectIdentifier;
import org.bouncycastle.asn1.ASN1Sequence;
import org.bouncycastle.asn1.ASN1TaggedObject;
import org.bouncycastle.asn1.edec.EdECObjectIdentifiers;
import org.bouncycastle.asn1.x509.AlgorithmIdentifier;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.Extensions;
import org.bouncycastle.asn1.x509.KeyUsage;
import org.bouncycastle.asn1.x509.SubjectPublicKeyInfo;
import org.bouncycastle.asn1.x509.Time;

/**
 * Reads a self-signed Ed25519 certificate that has neither subject nor issuer. Go programs make
 * such certificates to prove a key without a name. The JDK refuses an empty issuer, and so does
 * Bouncy Castle since 1.8x, hence this class reads the fields itself from Bouncy Castle's ASN.1.
 *
 * <p>It refuses each other certificate: another key algorithm, a name, a version other than 3.
 * {@link #verify(PublicKey)} checks the signature, as with any certificate.
 */
final class NamelessCertificate extends X509Certificate {
  private static final long serialVersionUID = 1L;
  private static final String ALGORITHM = "Ed25519";

  /** X.509 counts versions from zero. */
  private static final int VERSION_3 = 2;

  /** The bits of keyUsage in RFC 5280, 4.2.1.3. */
  private static final int KEY_USAGES = 9;

  /** The extensions that a TLS stack or the project's code understands. */
  private static final Set<ASN1ObjectIdentifier> UNDERSTOOD =
      Set.of(
          Extension.keyUsage,
          Extension.extendedKeyUsage,
          Extension.basicConstraints,
          Extension.subjectAlternativeName);

  private final transient byte[] encoded;
  private final transient byte[] signed;
  private final transient byte[] signature;
  private final transient BigInteger serial;
  private final transient Date notBefore;
  private final transient Date notAfter;
  private final transient PublicKey key;
  private final transient Extensions extensions; // null if there are none
  // Parsed with the rest, since the getters must not fail later; null if absent.
  private final transient KeyUsage usage;
  private final transient BasicConstraints constraints;

  private NamelessCertificate(byte[] der) throws GeneralSecurityException, IOException {
    ASN1Sequence certificate = ASN1Sequence.getInstance(der);
    require(certificate.size() == 3, "it has not the three parts of a certificate");
    requireEd25519(AlgorithmIdentifier.getInstance(certificate.getObjectAt(1)));
    ASN1Sequence content = ASN1Sequence.getInstance(certificate.getObjectAt(0));
    require(content.size() >= 7, "fields are missing");
    requireVersion3(ASN1TaggedObject.getInstance(content.getObjectAt(0)));
    requireEd25519(AlgorithmIdentifier.getInstance(content.getObjectAt(2)));
    require(isEmpty(content.getObjectAt(3)), "it has an issuer");
    require(isEmpty(content.getObjectAt(5)), "it has a subject");
    ASN1Sequence validity = ASN1Sequence.getInstance(content.getObjectAt(4));
    require(validity.size() == 2, "its validity has not two ends");
    SubjectPublicKeyInfo holder = SubjectPublicKeyInfo.getInstance(content.getObjectAt(6));
    requireEd25519(holder.getAlgorithm());
    this.encoded = der.clone();
    this.signed = content.getEncoded(ASN1Encoding.DER);
    this.signature = ASN1BitString.getInstance(certificate.getObjectAt(2)).getOctets();
    this.serial = ASN1Integer.getInstance(content.getObjectAt(1)).getValue();
    this.notBefore = Time.getInstance(validity.getObjectAt(0)).getDate();
    this.notAfter = Time.getInstance(validity.getObjectAt(1)).getDate();
    this.key =
        KeyFactory.getInstance(ALGORITHM)
            .generatePublic(new X509EncodedKeySpec(holder.getEncoded(ASN1Encoding.DER)));
    this.extensions = extensions(content);
    this.usage = extensions == null ? null : KeyUsage.fromExtensions(extensions);
    this.constraints = extensions == null ? null : BasicConstraints.fromExtensions(extensions);
  }

  /**
   * Reads a nameless certificate from DER.
   *
   * @throws CertificateParsingException if the bytes are no such certificate
   */
  static NamelessCertificate parse(byte[] der) throws CertificateParsingException {
    try {
      return new NamelessCertificate(der);
    } catch (CertificateParsingException e) {
      throw e;
    } catch (GeneralSecurityException | IOException | RuntimeException e) {
      // Bouncy Castle reports bad input with exceptions of all three kinds.
      throw new CertificateParsingException("not a certificate without names: " + e, e);
    }
  }

  private static void require(boolean holds, String otherwise) throws CertificateParsingException {
    if (!holds) {
      throw new CertificateParsingException("not a certificate without names: " + otherwise);
    }
  }

  private static void requireEd25519(AlgorithmIdentifier algorithm)
      throws CertificateParsingException {
    require(
        EdECObjectIdentifiers.id_Ed25519.equals(algorithm.getAlgorithm()),
        "its algorithm is " + algorithm.getAlgorithm() + ", not Ed25519");
  }

  private static void requireVersion3(ASN1TaggedObject version) throws CertificateParsingException {
    require(
        version.hasContextTag(0) && ASN1Integer.getInstance(version, true).hasValue(VERSION_3),
        "it is not of version 3");
  }

  private static boolean isEmpty(Object name) {
    return ASN1Sequence.getInstance(name).size() == 0;
  }

  private static Extensions extensions(ASN1Sequence content) {
    for (int field = 7; field < content.size(); field++) {
      ASN1TaggedObject tagged = ASN1TaggedObject.getInstance(content.getObjectAt(field));
      if (tagged.hasContextTag(3)) {
        return Extensions.getInstance(tagged, true);
      }
    }
    return null;
  }

  @Override
  public PublicKey getPublicKey() {
    return key;
  }

  @Override
  public void verify(PublicKey signer)
      throws NoSuchAlgorithmException, InvalidKeyException, SignatureException {
    verify(Signature.getInstance(ALGORITHM), signer);
  }

  @Override
  public void verify(PublicKey signer, String provider)
      throws NoSuchAlgorithmException,
          NoSuchProviderException,
          InvalidKeyException,
          SignatureException {
    verify(Signature.getInstance(ALGORITHM, provider), signer);
  }

  private void verify(Signature verifier, PublicKey signer)
      throws InvalidKeyException, SignatureException {
    verifier.initVerify(signer);
    verifier.update(signed);
    if (!verifier.verify(signature)) {
      throw new SignatureException("the certificate is not signed by this key");
    }
  }

  @Override
  public void checkValidity() throws CertificateExpiredException, CertificateNotYetValidException {
    checkValidity(new Date());
  }

  @Override
  public void checkValidity(Date at)
      throws CertificateExpiredException, CertificateNotYetValidException {
    if (at.before(notBefore)) {
      throw new CertificateNotYetValidException("valid from " + notBefore.toInstant());
    }
    if (at.after(notAfter)) {
      throw new CertificateExpiredException("valid until " + notAfter.toInstant());
    }
  }

  @Override
  public int getVersion() {
    return VERSION_3 + 1;
  }

  @Override
  public BigInteger getSerialNumber() {
    return serial;
  }

  @Override
  @SuppressWarnings("deprecation") // the JDK's class still demands it
  public Principal getIssuerDN() {
    return getIssuerX500Principal();
  }

  @Override
  public X500Principal getIssuerX500Principal() {
    return new X500Principal("");
  }

  @Override
  @SuppressWarnings("deprecation") // the JDK's class still demands it
  public Principal getSubjectDN() {
    return getSubjectX500Principal();
  }

  @Override
  public X500Principal getSubjectX500Principal() {
    return new X500Principal("");
  }

  @Override
  public Date getNotBefore() {
    return new Date(notBefore.getTime());
  }

  @Override
  public Date getNotAfter() {
    return new Date(notAfter.getTime());
  }

  @Override
  public byte[] getTBSCertificate() {
    return signed.clone();
  }

  @Override
  public byte[] getSignature() {
    return signature.clone();
  }

  @Override
  public String getSigAlgName() {
    return ALGORITHM;
  }

  @Override
  public String getSigAlgOID() {
    return EdECObjectIdentifiers.id_Ed25519.getId();
  }

  @Override
  public byte[] getSigAlgParams() {
    return null; // the JDK's contract for "no parameters"
  }

  @Override
  public boolean[] getIssuerUniqueID() {
    return null; // the JDK's contract for "absent"; no CA has used these fields since 1993
  }

  @Override
  public boolean[] getSubjectUniqueID() {
    return null; // as above
  }

  @Override
  public boolean[] getKeyUsage() {
    if (usage == null) {
      return null; // the JDK's contract for "absent"
    }
    boolean[] bits = new boolean[KEY_USAGES];
    for (int bit = 0; bit < bits.length; bit++) {
      // Bouncy Castle holds the first eight in a byte from its highest bit on, the ninth above.
      bits[bit] = usage.hasUsages(bit < 8 ? 0x80 >> bit : 0x8000);
    }
    return bits;
  }

  @Override
  public int getBasicConstraints() {
    if (constraints == null || !constraints.isCA()) {
      return -1; // the JDK's contract for "no authority"
    }
    BigInteger length = constraints.getPathLenConstraint();
    return length == null ? Integer.MAX_VALUE : length.intValue();
  }

  @Override
  public byte[] getEncoded() {
    return encoded.clone();
  }

  @Override
  public boolean hasUnsupportedCriticalExtension() {
    return extensions != null
        && Arrays.stream(extensions.getCriticalExtensionOIDs())
            .anyMatch(oid -> !UNDERSTOOD.contains(oid));
  }

  @Override
  public Set<String> getCriticalExtensionOIDs() {
    return extensions == null ? null : texts(extensions.getCriticalExtensionOIDs());
  }

  @Override
  public Set<String> getNonCriticalExtensionOIDs() {
    return extensions == null ? null : texts(extensions.getNonCriticalExtensionOIDs());
  }

  private static Set<String> texts(ASN1ObjectIdentifier[] identifiers) {
    return Stream.of(identifiers).map(ASN1ObjectIdentifier::getId).collect(Collectors.toSet());
  }

  @Override
  public byte[] getExtensionValue(String oid) {
    Extension found =
        extensions == null ? null : extensions.getExtension(new ASN1ObjectIdentifier(oid));
    try {
      return found == null ? null : found.getExtnValue().getEncoded();
    } catch (IOException e) {
      throw new IllegalStateException("an extension that was read cannot be written", e);
    }
  }

  @Override
  public String toString() {
    return "certificate without names, serial number "
        + serial
        + ", valid until "
        + notAfter.toInstant();
  }
}
