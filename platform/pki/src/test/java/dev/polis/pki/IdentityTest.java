package dev.polis.pki;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class IdentityTest {
  private static final String OTHER = "metropolis-00000000000000000000000000000000";

  private final CertificateAuthority ca = CertificateAuthority.create("Cluster CA");
  private final KeyPair key = Ed25519.generate();
  private final NodeId id = NodeId.of(key.getPublic());

  private X509Certificate node(String commonName, String dnsName, boolean isCa) {
    return ca.issue(
        new CertificateTemplate(
            commonName,
            List.of(),
            List.of(dnsName),
            List.of(),
            Set.of(CertificateTemplate.Usage.SERVER),
            isCa,
            Duration.ofDays(1)),
        key.getPublic());
  }

  private X509Certificate user(String commonName, boolean isCa) {
    return ca.issue(
        new CertificateTemplate(
            commonName,
            List.of(),
            List.of(),
            List.of(),
            Set.of(CertificateTemplate.Usage.CLIENT),
            isCa,
            Duration.ofDays(1)),
        key.getPublic());
  }

  @Test
  @DisplayName(
      "the subject contains the holder's organizations, which are its groups in Kubernetes")
  void organizations() {
    CertificateTemplate template =
        CertificateTemplate.client("system:node:a")
            .withOrganizations(List.of("system:nodes", "ops, \u00e9t\u00e9"));

    X509Certificate issued = ca.issue(template, key.getPublic());

    assertEquals(template.organizations(), Identity.organizations(issued));
    assertTrue(template.describes(issued));
    assertFalse(template.withOrganizations(List.of("system:masters")).describes(issued));
    assertFalse(CertificateTemplate.client("system:node:a").describes(issued));
  }

  private void nodeFails(X509Certificate certificate, X509Certificate authority) {
    assertThrows(IdentityException.class, () -> Identity.verifyNode(certificate, authority));
  }

  private void userFails(X509Certificate certificate, X509Certificate authority) {
    assertThrows(IdentityException.class, () -> Identity.verifyUser(certificate, authority));
  }

  @Test
  @DisplayName("IDN-01 row 1: valid certificates verify as their kind")
  void idn01_good() {
    X509Certificate node = ca.issueNode(key.getPublic());
    X509Certificate user = ca.issueUser("owner", key.getPublic());

    assertEquals(new Identity.Node(id), Identity.verify(node, ca.certificate()));
    assertEquals(new Identity.User("owner"), Identity.verify(user, ca.certificate()));
  }

  @Test
  @DisplayName("IDN-01 row 2: a CA certificate that is not marked as a CA fails both")
  void idn01_caIsNoCa() {
    var pair = new KeyPair(ca.certificate().getPublicKey(), ca.privateKey());
    X509Certificate plain =
        CertificateAuthority.selfSigned(
            CertificateTemplate.client("Cluster CA"), pair, java.time.Instant.now());

    nodeFails(ca.issueNode(key.getPublic()), plain);
    userFails(ca.issueUser("owner", key.getPublic()), plain);
  }

  @Test
  @DisplayName("IDN-01 row 3: a node that is a CA fails")
  void idn01_nodeIsCa() {
    nodeFails(node(id.text(), id.text(), true), ca.certificate());
  }

  @Test
  @DisplayName("IDN-01 row 4: a user that is a CA fails")
  void idn01_userIsCa() {
    userFails(user("owner", true), ca.certificate());
  }

  @Test
  @DisplayName("IDN-01 row 5: a node with another node's DNS name fails")
  void idn01_wrongSan() {
    nodeFails(node(id.text(), OTHER, false), ca.certificate());
  }

  @Test
  @DisplayName("IDN-01 row 6: a node with another node's CN fails")
  void idn01_wrongCommonName() {
    nodeFails(node(OTHER, id.text(), false), ca.certificate());
  }

  @Test
  @DisplayName("IDN-01 row 7: a user without a name fails")
  void idn01_emptyUser() {
    userFails(user("", false), ca.certificate());
  }

  @Test
  @DisplayName("IDN-01 a node does not verify as a user, nor a user as a node")
  void idn01_notEachOther() {
    userFails(ca.issueNode(key.getPublic()), ca.certificate());
    nodeFails(ca.issueUser(id.text(), key.getPublic()), ca.certificate());
  }

  @Test
  @DisplayName("IDN-01 a certificate with both usages is neither node nor user")
  void idn01_bothUsages() {
    X509Certificate both =
        ca.issue(
            CertificateTemplate.peer(id.text(), List.of(id.text()), List.of()), key.getPublic());

    nodeFails(both, ca.certificate());
    userFails(both, ca.certificate());
  }

  @Test
  @DisplayName("a certificate of another CA with the same name fails")
  void foreignCa() {
    var other = CertificateAuthority.create("Cluster CA");

    nodeFails(other.issueNode(key.getPublic()), ca.certificate());
    userFails(other.issueUser("owner", key.getPublic()), ca.certificate());
  }

  @Test
  @DisplayName("a user name with commas and quotes is read as it was written")
  void strangeUserName() {
    String name = "Ö, \"x\" + CN=root";

    assertEquals(name, Identity.verifyUser(user(name, false), ca.certificate()));
  }

  @Test
  @DisplayName("SEED-08 the id is the prefix and the first 16 bytes of the key")
  void seed08_id() {
    byte[] raw =
        HexFormat.of().parseHex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");

    NodeId fixed = NodeId.of(raw);

    assertEquals("metropolis-d75a980182b10ab7d54bfed3c964073a", fixed.text());
    assertEquals(43, fixed.text().length());
    assertEquals("d75a980182b10ab7d54bfed3c964073a", fixed.hex());
    assertEquals(fixed, NodeId.parse(fixed.toString()));
    assertEquals(fixed, NodeId.ofHex(fixed.hex()));
    assertArrayEquals(raw, Ed25519.raw(Ed25519.publicKey(raw)));
  }

  @Test
  @DisplayName("SEED-08 a key of another kind has no id")
  void seed08_otherKeys() throws Exception {
    for (String algorithm : List.of("EC", "Ed448", "X25519")) {
      var pair = KeyPairGenerator.getInstance(algorithm).generateKeyPair();

      assertThrows(PkiException.class, () -> NodeId.of(pair.getPublic()), algorithm);
      assertThrows(PkiException.class, () -> Ed25519.seed(pair.getPrivate()), algorithm);
    }
    assertThrows(PkiException.class, () -> NodeId.of(new byte[31]));
  }

  @Test
  @DisplayName("SEED-08 malformed ids are refused with an example")
  void seed08_malformed() {
    for (String text :
        List.of(
            "",
            "metropolis-",
            "metropolis-" + "A".repeat(32),
            "polis-" + "0".repeat(32),
            OTHER + "0",
            OTHER + "\n")) {
      var refused = assertThrows(PkiException.class, () -> NodeId.parse(text), text);
      assertTrue(refused.getMessage().contains("0123456789abcdef"), refused.getMessage());
      assertFalse(NodeId.matches(text));
    }
  }

  @Test
  @DisplayName("keys survive encoding and decoding in every form; RFC 8032 test 1")
  void keyForms() {
    byte[] seed =
        HexFormat.of().parseHex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    var privateKey = Ed25519.privateKeyFromSeed(seed);

    assertArrayEquals(
        HexFormat.of().parseHex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"),
        Ed25519.raw(Ed25519.publicKey(privateKey)));
    assertArrayEquals(seed, Ed25519.seed(Ed25519.privateKey(privateKey.getEncoded())));
    assertTrue(
        HexFormat.of()
            .formatHex(Ed25519.sign(privateKey, new byte[0]))
            .startsWith("e5564300c360ac729086e2cc806e828a"));
    byte[] signature = Ed25519.sign(privateKey, seed);
    assertTrue(Ed25519.verify(Ed25519.publicKey(privateKey), seed, signature));
    assertFalse(Ed25519.verify(key.getPublic(), seed, signature));
    assertFalse(Ed25519.verify(key.getPublic(), seed, new byte[3]));
  }

  @Test
  @DisplayName("credentials whose parts do not match are refused")
  void credentials() {
    X509Certificate certificate = ca.issueNode(key.getPublic());
    var good = new NodeCredentials(key.getPrivate(), certificate, ca.certificate());

    assertEquals(id, good.id());
    assertEquals(
        good,
        NodeCredentials.fromPem(
            Pem.encode(key.getPrivate()), Pem.encode(certificate), Pem.encode(ca.certificate())));
    assertThrows(
        PkiException.class,
        () -> new NodeCredentials(Ed25519.generate().getPrivate(), certificate, ca.certificate()));
    assertThrows(
        IdentityException.class,
        () -> new UserCredentials(key.getPrivate(), certificate, ca.certificate()));
  }

  @Test
  @DisplayName("RPC-05 no key is printed")
  void rpc05_redacted() {
    var node =
        new NodeCredentials(key.getPrivate(), ca.issueNode(key.getPublic()), ca.certificate());
    var user =
        new UserCredentials(
            key.getPrivate(), ca.issueUser("owner", key.getPublic()), ca.certificate());

    assertEquals("NodeCredentials[" + id + ", <secret key>]", node.toString());
    assertEquals("UserCredentials[owner, <secret key>]", user.toString());
    assertTrue(node.tls().toString().endsWith("<secret key>]"), node.tls().toString());
    assertTrue(ca.toString().endsWith("<secret key>]"), ca.toString());
  }

  @Test
  @DisplayName("damaged PEM is refused with the text found")
  void pem() {
    String certificate = Pem.encode(ca.certificate());

    assertThrows(PkiException.class, () -> Pem.certificate(""));
    assertThrows(PkiException.class, () -> Pem.privateKey(certificate));
    assertThrows(PkiException.class, () -> Pem.certificate(certificate + certificate));
    assertEquals(2, Pem.certificates("text\n" + certificate + certificate).size());
    assertThrows(
        PkiException.class,
        () -> Pem.certificate(certificate.replaceFirst("MII[A-Za-z0-9+/]{20}", "")));
  }

  @Test
  @DisplayName(
      "node and user certificates have a limited validity and are due with a third of it left")
  void lifetimes() {
    var clock = new ManualClock();
    var authority = CertificateAuthority.create(CertificateTemplate.authority("CA"), clock);
    X509Certificate certificate = authority.issueNode(key.getPublic());
    Renewal renewal = Renewal.of(certificate);

    assertFalse(renewal.due(clock.instant()));
    assertFalse(renewal.invalid(clock.instant()));
    clock.advance(CertificateTemplate.NODE_LIFETIME.dividedBy(2));
    assertFalse(renewal.due(clock.instant()));
    clock.advance(renewal.until(clock.instant()));
    assertTrue(renewal.due(clock.instant()));
    assertEquals(Duration.ZERO, renewal.until(clock.instant()));
    assertFalse(renewal.invalid(clock.instant()));
    clock.advance(Duration.between(clock.instant(), renewal.notAfter()).plusSeconds(1));
    assertTrue(renewal.invalid(clock.instant()));
    assertTrue(
        renewal.notAfter().isBefore(renewal.notBefore().plus(Duration.ofDays(31))),
        "a node's certificate dies within a month");
  }

  @Test
  @Tag("attack")
  @DisplayName("a certificate with any one bit damaged is refused, and nothing else is thrown")
  void anyBitDamaged() throws Exception {
    assertEquals(List.of("TLSv1.3"), TlsContexts.PROTOCOLS, "uses the class that installs it");
    CertificateFactory parser = CertificateFactory.getInstance("X.509");
    X509Certificate good = ca.issueNode(key.getPublic());
    byte[] der = good.getEncoded();
    for (int bit = 0; bit < der.length * Byte.SIZE; bit++) {
      byte[] damaged = der.clone();
      damaged[bit / Byte.SIZE] ^= (byte) (1 << bit % Byte.SIZE);
      try {
        X509Certificate read =
            (X509Certificate) parser.generateCertificate(new ByteArrayInputStream(damaged));
        Identity.verify(read, ca.certificate());
        // The number of signature bits that count besides the signed bytes.
        assertArrayEquals(good.getTBSCertificate(), read.getTBSCertificate(), "bit " + bit);
      } catch (CertificateException | IdentityException refused) {
        assertFalse(refused.getMessage().isBlank());
      }
    }
  }
}
