package dev.polis.pki;

import java.io.IOException;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Date;
import java.util.List;
import javax.security.auth.x500.X500Principal;
import org.bouncycastle.asn1.DERUTF8String;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x500.X500NameBuilder;
import org.bouncycastle.asn1.x500.style.BCStyle;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.CRLReason;
import org.bouncycastle.asn1.x509.ExtendedKeyUsage;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.bouncycastle.asn1.x509.KeyUsage;
import org.bouncycastle.cert.CertIOException;
import org.bouncycastle.cert.X509v2CRLBuilder;
import org.bouncycastle.cert.X509v3CertificateBuilder;
import org.bouncycastle.cert.jcajce.JcaX509ExtensionUtils;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.ContentSigner;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/**
 * Issues and revokes certificates with one Ed25519 key. It signs each given template; the caller
 * decides about permissions. Safe for any thread.
 */
public final class CertificateAuthority {
  /**
   * The number of random bits; below 2^127 the DER integer is positive and has at most 16 bytes
   * (RFC 5280 allows 20).
   */
  private static final int SERIAL_BITS = 127;

  /** The age of a new certificate's begin, since the clocks of a cluster may differ by minutes. */
  private static final Duration CLOCK_SKEW = Duration.ofMinutes(5);

  /**
   * The life of a revocation list. It is ten years: readers watch the list, so nextUpdate is no
   * refresh date, but some readers refuse a list without one.
   */
  private static final Duration CRL_LIFETIME = Duration.ofDays(3650);

  private static final SecureRandom RANDOM = new SecureRandom();

  private final PrivateKey privateKey;
  private final X509Certificate certificate;
  private final InstantSource clock;

  /**
   * Creates an authority from its key and certificate; refuses another key's certificate and one
   * that is no CA.
   */
  public CertificateAuthority(
      PrivateKey privateKey, X509Certificate certificate, InstantSource clock) {
    Identity.verifyCa(certificate);
    if (!Ed25519.match(privateKey, certificate.getPublicKey())) {
      throw new PkiException(
          "the private key does not belong to CA " + certificate.getSubjectX500Principal());
    }
    this.privateKey = privateKey;
    this.certificate = certificate;
    this.clock = clock;
  }

  /** Creates an authority with a new key, on the system clock. */
  public static CertificateAuthority create(String name) {
    return create(CertificateTemplate.authority(name), InstantSource.system());
  }

  /** Creates an authority with a new key. */
  public static CertificateAuthority create(CertificateTemplate template, InstantSource clock) {
    KeyPair pair = Ed25519.generate();
    return new CertificateAuthority(
        pair.getPrivate(), selfSigned(template, pair, clock.instant()), clock);
  }

  /**
   * Creates a certificate that a key signs for itself. Unauthenticated clients present it to prove
   * that they have the key. Its CN is the key's node id, it is valid for a day and for client
   * authentication only.
   */
  public static X509Certificate selfSigned(KeyPair pair, InstantSource clock) {
    var template =
        CertificateTemplate.client(NodeId.of(pair.getPublic()).text())
            .withLifetime(Duration.ofDays(1));
    return selfSigned(template, pair, clock.instant());
  }

  /**
   * Certifies the key of the authority that succeeds this one, so that a holder of this authority's
   * certificate can trust the successor (RFC 4210, 4.4: NewWithOld).
   */
  public X509Certificate link(X509Certificate next) {
    return issue(
        CertificateTemplate.authority(Identity.commonName(certificate).orElse("")),
        next.getPublicKey());
  }

  /** Issues a certificate for a public key. */
  public X509Certificate issue(CertificateTemplate template, PublicKey publicKey) {
    return build(
        template,
        publicKey,
        issuer(certificate),
        certificate.getPublicKey(),
        privateKey,
        clock.instant());
  }

  /** Issues the certificate of the node that owns this key. */
  public X509Certificate issueNode(PublicKey publicKey) {
    return issue(CertificateTemplate.node(NodeId.of(publicKey)), publicKey);
  }

  /** Issues the certificate of a user. */
  public X509Certificate issueUser(String name, PublicKey publicKey) {
    return issue(CertificateTemplate.user(name), publicKey);
  }

  /**
   * Signs a revocation list.
   *
   * @param number its number; must grow with every list of this authority
   * @param serials the revoked serial numbers
   */
  public Crl revocationList(BigInteger number, Collection<BigInteger> serials) {
    Instant now = clock.instant().truncatedTo(ChronoUnit.SECONDS);
    var builder = new X509v2CRLBuilder(issuer(certificate), Date.from(now));
    builder.setNextUpdate(Date.from(now.plus(CRL_LIFETIME)));
    serials.stream()
        .sorted()
        .distinct()
        .forEach(
            serial -> builder.addCRLEntry(serial, Date.from(now), CRLReason.privilegeWithdrawn));
    try {
      builder.addExtension(
          Extension.authorityKeyIdentifier,
          false,
          new JcaX509ExtensionUtils().createAuthorityKeyIdentifier(certificate.getPublicKey()));
      builder.addExtension(
          Extension.cRLNumber, false, new org.bouncycastle.asn1.x509.CRLNumber(number));
      return Crl.parse(builder.build(signer(privateKey)).getEncoded());
    } catch (GeneralSecurityException | IOException e) {
      throw new PkiException(
          "cannot build the revocation list of " + certificate.getSubjectX500Principal(), e);
    }
  }

  /** Returns the authority's own certificate. */
  public X509Certificate certificate() {
    return certificate;
  }

  /** Returns the authority's private key. */
  public PrivateKey privateKey() {
    return privateKey;
  }

  @Override
  public String toString() {
    return "CertificateAuthority[" + certificate.getSubjectX500Principal() + ", <secret key>]";
  }

  static X509Certificate selfSigned(CertificateTemplate template, KeyPair pair, Instant now) {
    return build(
        template, pair.getPublic(), name(template), pair.getPublic(), pair.getPrivate(), now);
  }

  private static X509Certificate build(
      CertificateTemplate template,
      PublicKey publicKey,
      X500Name issuer,
      PublicKey issuerKey,
      PrivateKey issuerPrivateKey,
      Instant now) {
    Instant second = now.truncatedTo(ChronoUnit.SECONDS);
    var builder =
        new JcaX509v3CertificateBuilder(
            issuer,
            new BigInteger(SERIAL_BITS, RANDOM),
            Date.from(second.minus(CLOCK_SKEW)),
            Date.from(second.plus(template.lifetime())),
            name(template),
            publicKey);
    try {
      addExtensions(builder, template);
      var keys = new JcaX509ExtensionUtils();
      builder.addExtension(
          Extension.subjectKeyIdentifier, false, keys.createSubjectKeyIdentifier(publicKey));
      builder.addExtension(
          Extension.authorityKeyIdentifier, false, keys.createAuthorityKeyIdentifier(issuerKey));
      return Pem.certificate(builder.build(signer(issuerPrivateKey)).getEncoded());
    } catch (GeneralSecurityException | IOException e) {
      throw new PkiException("cannot build certificate \"" + template.commonName() + "\"", e);
    }
  }

  private static void addExtensions(X509v3CertificateBuilder builder, CertificateTemplate template)
      throws CertIOException {
    builder.addExtension(
        Extension.basicConstraints,
        true,
        // Path length 0: this authority signs only certificates that are no authorities.
        template.ca() ? new BasicConstraints(0) : new BasicConstraints(false));
    builder.addExtension(
        Extension.keyUsage,
        true,
        new KeyUsage(
            template.ca() ? KeyUsage.keyCertSign | KeyUsage.cRLSign : KeyUsage.digitalSignature));
    if (!template.usages().isEmpty()) {
      builder.addExtension(
          Extension.extendedKeyUsage, false, new ExtendedKeyUsage(purposes(template)));
    }
    List<GeneralName> names = new ArrayList<>();
    template.dnsNames().forEach(dns -> names.add(new GeneralName(GeneralName.dNSName, dns)));
    template
        .addresses()
        .forEach(ip -> names.add(new GeneralName(GeneralName.iPAddress, ip.getHostAddress())));
    if (!names.isEmpty()) {
      builder.addExtension(
          Extension.subjectAlternativeName,
          false,
          new GeneralNames(names.toArray(GeneralName[]::new)));
    }
  }

  private static KeyPurposeId[] purposes(CertificateTemplate template) {
    return template.usages().stream()
        .sorted()
        .map(
            usage ->
                switch (usage) {
                  case SERVER -> KeyPurposeId.id_kp_serverAuth;
                  case CLIENT -> KeyPurposeId.id_kp_clientAuth;
                })
        .toArray(KeyPurposeId[]::new);
  }

  private static ContentSigner signer(PrivateKey key) {
    try {
      return new JcaContentSignerBuilder("Ed25519").build(key);
    } catch (OperatorCreationException e) {
      throw new PkiException(
          "cannot sign with this " + key.getAlgorithm() + " key; it must be Ed25519", e);
    }
  }

  private static X500Name name(CertificateTemplate template) {
    var name = new X500NameBuilder(BCStyle.INSTANCE);
    template.organizations().forEach(group -> name.addRDN(BCStyle.O, new DERUTF8String(group)));
    return name.addRDN(BCStyle.CN, new DERUTF8String(template.commonName())).build();
  }

  private static X500Name issuer(X509Certificate ca) {
    X500Principal subject = ca.getSubjectX500Principal();
    return X500Name.getInstance(subject.getEncoded());
  }
}
