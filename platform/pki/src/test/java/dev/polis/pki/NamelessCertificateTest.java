package dev.polis.pki;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.TestPki;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.Date;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class NamelessCertificateTest {
  /**
   * A certificate that Go 1.26's {@code x509.CreateCertificate} made from a template without names.
   */
  private static final String FROM_GO =
      """
      MIHXMIGKoAMCAQICAQEwBQYDK2VwMAAwIBcNMjYxMTIyMDEyNzE2WhgPOTk5OTEy
      MzEyMzU5NTlaMAAwKjAFBgMrZXADIQDj4xy/jmiFXHVOAP9Woe5wk/4EU98qOXvd
      WxONeFysIaMnMCUwDgYDVR0PAQH/BAQDAgeAMBMGA1UdJQQMMAoGCCsGAQUFBwMC
      MAUGAytlcANBAAv7grMn6fufPLyF+IBDlPTWZggVwjVYnOHsMi0eLLaTXMMsbqLn
      BhjTh8k5FjG80fzJ1IlLX9ha+Somhjz7KAQ=
      """;

  private static final String KEY_FROM_GO =
      "MC4CAQAwBQYDK2VwBCIEIFOzHTzMzUEPiidw34tAscejIgAknQ3Rb0WEhv3Mssse";

  private static final long SEED = Long.getLong("polis.seed", 7);
  private static final int MUTATIONS = 20_000;

  /** Holds a key and the certificate without names that it signed. */
  static TlsIdentity identity(KeyPair pair) throws CertificateException {
    return TlsIdentity.of(pair.getPrivate(), read(TestPki.nameless(pair, "Ed25519")));
  }

  /** Reads a certificate as the TLS stack reads a peer's. */
  private static X509Certificate read(byte[] der) throws CertificateException {
    assertEquals(List.of("TLSv1.3"), TlsContexts.PROTOCOLS, "uses the class that installs it");
    return (X509Certificate)
        CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(der));
  }

  static X509Certificate readFromGo() {
    try {
      return read(fromGo());
    } catch (CertificateException e) {
      throw new AssertionError("the certificate from Go is not read", e);
    }
  }

  private static byte[] fromGo() {
    return Base64.getMimeDecoder().decode(FROM_GO);
  }

  @Test
  @DisplayName("the certificate that a Go program makes for a key without a name is read whole")
  void readsGo() throws Exception {
    X509Certificate certificate = read(fromGo());

    assertInstanceOf(NamelessCertificate.class, certificate);
    assertTrue(
        Ed25519.match(
            Ed25519.privateKey(Base64.getDecoder().decode(KEY_FROM_GO)),
            certificate.getPublicKey()));
    certificate.verify(certificate.getPublicKey());
    assertEquals("", certificate.getSubjectX500Principal().getName());
    assertEquals("", certificate.getIssuerX500Principal().getName());
    assertEquals(BigInteger.ONE, certificate.getSerialNumber());
    assertEquals(3, certificate.getVersion());
    assertEquals(Instant.parse("2026-11-22T01:27:16Z"), certificate.getNotBefore().toInstant());
    assertEquals(Instant.parse("9999-12-31T23:59:59Z"), certificate.getNotAfter().toInstant());
    assertEquals(List.of(Identity.CLIENT_AUTH), Identity.usages(certificate));
    assertEquals(Optional.empty(), Identity.commonName(certificate));
    assertArrayEquals(
        new boolean[] {true, false, false, false, false, false, false, false, false},
        certificate.getKeyUsage());
    assertEquals(-1, certificate.getBasicConstraints());
    assertFalse(certificate.hasUnsupportedCriticalExtension());
    assertArrayEquals(fromGo(), certificate.getEncoded());
    assertEquals(certificate, read(fromGo()));
  }

  @Test
  @DisplayName("a certificate without names that its key did not sign does not verify")
  void forged() throws Exception {
    byte[] der = TestPki.nameless(Ed25519.generate(), "Ed25519");
    der[der.length - 1] ^= 1;

    X509Certificate forged = read(der);

    assertThrows(GeneralSecurityException.class, () -> forged.verify(forged.getPublicKey()));
    assertThrows(
        GeneralSecurityException.class, () -> read(fromGo()).verify(forged.getPublicKey()));
  }

  @Test
  @DisplayName("a certificate without names and with another kind of key is refused as by the JDK")
  void otherKey() throws Exception {
    KeyPair pair = KeyPairGenerator.getInstance("EC").generateKeyPair();
    byte[] der = TestPki.nameless(pair, "SHA256withECDSA");

    var refused = assertThrows(CertificateException.class, () -> read(der));

    assertTrue(refused.getMessage().contains("issuer"), refused.getMessage());
  }

  @Test
  @DisplayName("the JDK still reads certificates with names")
  void others() throws Exception {
    X509Certificate ca = CertificateAuthority.create("Cluster CA").certificate();

    assertEquals(ca, read(ca.getEncoded()));
    assertFalse(read(ca.getEncoded()) instanceof NamelessCertificate);
    assertThrows(
        CertificateParsingException.class, () -> NamelessCertificate.parse(ca.getEncoded()));
  }

  @Test
  @DisplayName("a certificate from a file or a record must have names")
  void onlyFromPeers() {
    assertThrows(PkiException.class, () -> Pem.certificate(fromGo()));
  }

  @Test
  @DisplayName("any bytes from a peer are read or refused, without another effect")
  void anyBytes() {
    Random random = new Random(SEED);
    byte[] whole = fromGo();
    for (int count = 0; count < MUTATIONS; count++) {
      byte[] der =
          Arrays.copyOf(whole, whole.length - (count % 5 == 0 ? random.nextInt(whole.length) : 0));
      for (int flips = 1 + random.nextInt(4); flips > 0 && der.length > 0; flips--) {
        der[random.nextInt(der.length)] = (byte) random.nextInt();
      }
      try {
        touch(NamelessCertificate.parse(der));
      } catch (CertificateParsingException refused) {
        assertFalse(refused.getMessage().isBlank());
      }
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a certificate without names whose extensions have wrong content is refused")
  void falseExtensions() {
    String der = HexFormat.of().formatHex(fromGo());
    // keyUsage with its bits, or with as many bytes of another type; the same for basicConstraints.
    String usage = "0603551d0f0101ff040403020780";
    assertTrue(der.contains(usage), der);
    for (String other : List.of("0603551d0f0101ff040404020780", "0603551d130101ff040404020780")) {
      byte[] forged = HexFormat.of().parseHex(der.replace(usage, other));
      assertThrows(CertificateException.class, () -> read(forged), other);
    }
  }

  /** Makes a certificate with so many empty names, each of which takes two bytes. */
  private static byte[] withNames(int names) throws Exception {
    KeyPair pair = Ed25519.generate();
    GeneralName[] all = new GeneralName[names];
    Arrays.fill(all, new GeneralName(GeneralName.dNSName, ""));
    X500Name name = new X500Name("CN=many");
    return new JcaX509v3CertificateBuilder(
            name,
            BigInteger.ONE,
            new Date(0),
            new Date(Long.MAX_VALUE >> 20),
            name,
            pair.getPublic())
        .addExtension(Extension.subjectAlternativeName, false, new GeneralNames(all))
        .build(new JcaContentSignerBuilder("Ed25519").build(pair.getPrivate()))
        .getEncoded();
  }

  @Test
  @Tag("attack")
  @DisplayName("a certificate of more than 2 KiB is refused by its size, as DER and as PEM")
  void large() throws Exception {
    byte[] fits = withNames(800);
    assertTrue(fits.length < 2048, "has " + fits.length);
    assertArrayEquals(fits, read(fits).getEncoded());
    byte[] large = withNames(1000);
    byte[] pem =
        ("-----BEGIN CERTIFICATE-----\n"
                + Base64.getMimeEncoder().encodeToString(large)
                + "\n-----END CERTIFICATE-----\n")
            .getBytes(US_ASCII);
    for (byte[] shown : List.of(large, withNames(16_000), pem)) {
      var refused = assertThrows(CertificateException.class, () -> read(shown));
      assertTrue(refused.getMessage().contains("more than 2048 bytes"), refused.getMessage());
    }
  }

  @Test
  @DisplayName("consecutive certificates are read one after the other")
  void several() throws Exception {
    byte[] first = withNames(700);
    byte[] second = withNames(600);
    var both = new ByteArrayOutputStream();
    both.writeBytes(first);
    both.writeBytes(second);
    var in = new ByteArrayInputStream(both.toByteArray());
    CertificateFactory factory = CertificateFactory.getInstance("X.509");
    assertArrayEquals(first, factory.generateCertificate(in).getEncoded());
    assertArrayEquals(second, factory.generateCertificate(in).getEncoded());
    assertEquals(0, in.available());
  }

  /** Calls every method that a TLS stack, or our readers, may call. */
  private static void touch(X509Certificate certificate) {
    certificate.getKeyUsage();
    certificate.getBasicConstraints();
    assertTrue(Ed25519.is(certificate.getPublicKey()));
    certificate.hasUnsupportedCriticalExtension();
    certificate.getCriticalExtensionOIDs();
    certificate.getNonCriticalExtensionOIDs();
    assertFalse(certificate.toString().isBlank());
  }
}
