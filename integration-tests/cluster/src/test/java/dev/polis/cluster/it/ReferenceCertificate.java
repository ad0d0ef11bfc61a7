package dev.polis.cluster.it;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.Principal;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Date;
import java.util.Set;

/**
 * Holds the certificate that a client of the reference system makes for itself before the cluster
 * issues one: Ed25519, signed by its own key, with neither subject nor issuer. Neither the JDK nor
 * Bouncy Castle reads such a certificate, so this class only holds its bytes and its key, which is
 * all that a TLS client sends.
 */
final class ReferenceCertificate extends X509Certificate {
  private static final long serialVersionUID = 1L;

  private static final int SEQUENCE = 0x30;
  private static final int INTEGER = 0x02;
  private static final int BIT_STRING = 0x03;
  private static final int OCTET_STRING = 0x04;
  private static final int UTC_TIME = 0x17;
  private static final int GENERALIZED_TIME = 0x18;
  private static final int BOOLEAN = 0x01;

  /** Object identifiers with their tag and length. */
  private static final byte[] ED25519 = {0x06, 0x03, 0x2b, 0x65, 0x70};

  private static final byte[] KEY_USAGE = {0x06, 0x03, 0x55, 0x1d, 0x0f};
  private static final byte[] EXTENDED_KEY_USAGE = {0x06, 0x03, 0x55, 0x1d, 0x25};
  private static final byte[] CLIENT_AUTH = {
    0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02
  };

  /** Only the bit digitalSignature is set; seven bits of the byte are unused. */
  private static final byte[] DIGITAL_SIGNATURE = {0x07, (byte) 0x80};

  private final transient byte[] der;
  private final transient PublicKey key;

  private ReferenceCertificate(byte[] der, PublicKey key) {
    this.der = der;
    this.key = key;
  }

  /** Makes the certificate of a key. */
  static ReferenceCertificate of(ReferenceKey key) throws GeneralSecurityException {
    byte[] algorithm = tlv(SEQUENCE, ED25519);
    byte[] nobody = tlv(SEQUENCE);
    String now =
        DateTimeFormatter.ofPattern("yyMMddHHmmss'Z'")
            .withZone(ZoneOffset.UTC)
            .format(Instant.now());
    byte[] content =
        tlv(
            SEQUENCE,
            tlv(0xa0, tlv(INTEGER, new byte[] {2})),
            tlv(INTEGER, new byte[] {1}),
            algorithm,
            nobody,
            tlv(SEQUENCE, text(UTC_TIME, now), text(GENERALIZED_TIME, "99991231235959Z")),
            nobody,
            key.open().getEncoded(),
            tlv(0xa3, tlv(SEQUENCE, keyUsage(), extendedKeyUsage())));
    Signature signer = Signature.getInstance("Ed25519");
    signer.initSign(key.secret());
    signer.update(content);
    byte[] der = tlv(SEQUENCE, content, algorithm, tlv(BIT_STRING, new byte[] {0}, signer.sign()));
    return new ReferenceCertificate(der, key.open());
  }

  private static byte[] keyUsage() {
    return tlv(
        SEQUENCE,
        KEY_USAGE,
        tlv(BOOLEAN, new byte[] {(byte) 0xff}),
        tlv(OCTET_STRING, tlv(BIT_STRING, DIGITAL_SIGNATURE)));
  }

  private static byte[] extendedKeyUsage() {
    return tlv(SEQUENCE, EXTENDED_KEY_USAGE, tlv(OCTET_STRING, tlv(SEQUENCE, CLIENT_AUTH)));
  }

  private static byte[] text(int tag, String text) {
    return tlv(tag, text.getBytes(StandardCharsets.US_ASCII));
  }

  /** Encodes an element of DER: tag, length, content. */
  private static byte[] tlv(int tag, byte[]... parts) {
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      content.writeBytes(part);
    }
    ByteArrayOutputStream element = new ByteArrayOutputStream();
    element.write(tag);
    if (content.size() < 0x80) {
      element.write(content.size());
    } else {
      byte[] length = BigInteger.valueOf(content.size()).toByteArray();
      int sign = length[0] == 0 ? 1 : 0;
      element.write(0x80 | (length.length - sign));
      element.write(length, sign, length.length - sign);
    }
    element.writeBytes(content.toByteArray());
    return element.toByteArray();
  }

  @Override
  public byte[] getEncoded() {
    return der.clone();
  }

  @Override
  public PublicKey getPublicKey() {
    return key;
  }

  @Override
  public String getSigAlgName() {
    return "Ed25519";
  }

  @Override
  public String toString() {
    return "certificate without names, " + der.length + " bytes";
  }

  private static UnsupportedOperationException unread() {
    return new UnsupportedOperationException("this certificate is sent and never read");
  }

  @Override
  public void verify(PublicKey signer) {
    throw unread();
  }

  @Override
  public void verify(PublicKey signer, String provider) {
    throw unread();
  }

  @Override
  public void checkValidity() {
    throw unread();
  }

  @Override
  public void checkValidity(Date date) {
    throw unread();
  }

  @Override
  public int getVersion() {
    return 3;
  }

  @Override
  public BigInteger getSerialNumber() {
    return BigInteger.ONE;
  }

  @Override
  @SuppressWarnings("deprecation") // the JDK's class still demands it
  public Principal getIssuerDN() {
    throw unread();
  }

  @Override
  @SuppressWarnings("deprecation") // the JDK's class still demands it
  public Principal getSubjectDN() {
    throw unread();
  }

  @Override
  public Date getNotBefore() {
    throw unread();
  }

  @Override
  public Date getNotAfter() {
    throw unread();
  }

  @Override
  public byte[] getTBSCertificate() {
    throw unread();
  }

  @Override
  public byte[] getSignature() {
    throw unread();
  }

  @Override
  public String getSigAlgOID() {
    return "1.3.101.112";
  }

  @Override
  public byte[] getSigAlgParams() {
    throw unread();
  }

  @Override
  public boolean[] getIssuerUniqueID() {
    throw unread();
  }

  @Override
  public boolean[] getSubjectUniqueID() {
    throw unread();
  }

  @Override
  public boolean[] getKeyUsage() {
    throw unread();
  }

  @Override
  public int getBasicConstraints() {
    return -1;
  }

  @Override
  public boolean hasUnsupportedCriticalExtension() {
    return false;
  }

  @Override
  public Set<String> getCriticalExtensionOIDs() {
    return Set.of();
  }

  @Override
  public Set<String> getNonCriticalExtensionOIDs() {
    return Set.of();
  }

  @Override
  public byte[] getExtensionValue(String oid) {
    throw unread();
  }
}
