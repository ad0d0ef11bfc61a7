package dev.polis.pki;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Verifies certificates and revocation lists in each step of a rotation of a CA. */
class CaBundleTest {

  private final CertificateAuthority former = CertificateAuthority.create("Polis cluster CA");
  private final CertificateAuthority next = CertificateAuthority.create("Polis cluster CA");
  private final CaBundle one = CaBundle.of(former.certificate());
  private final CaBundle both = one.learn(proof());
  private final X509Certificate old = owner(former);
  private final X509Certificate renewed = owner(next);

  private static X509Certificate owner(CertificateAuthority ca) {
    return ca.issueUser("owner", Ed25519.generate().getPublic());
  }

  private List<X509Certificate> proof() {
    return List.of(former.link(next.certificate()), next.certificate());
  }

  private static Crl list(CertificateAuthority by, long number, X509Certificate... revoked) {
    return by.revocationList(
        BigInteger.valueOf(number),
        List.of(revoked).stream().map(X509Certificate::getSerialNumber).toList());
  }

  private static void accepts(CaBundle ca, Optional<Crl> list, X509Certificate certificate) {
    assertEquals(
        new Identity.User("owner"), TlsTrust.Source.of(() -> ca, () -> list).verify(certificate));
  }

  private static void refuses(CaBundle ca, Optional<Crl> list, X509Certificate certificate) {
    assertThrows(
        IdentityException.class,
        () -> TlsTrust.Source.of(() -> ca, () -> list).verify(certificate));
  }

  @Test
  @DisplayName("a certificate is accepted by the CAs of its step: the former, both, the new one")
  void steps() {
    accepts(one, Optional.empty(), old);
    refuses(one, Optional.empty(), renewed);
    accepts(both, Optional.empty(), old);
    accepts(both, Optional.empty(), renewed);
    CaBundle last = both.follow(list(next, 2, former.certificate()));
    refuses(last, Optional.empty(), old);
    accepts(last, Optional.empty(), renewed);
  }

  @Test
  @DisplayName("the signer of the newest revocation list issues, and its list retires the other CA")
  void lists() {
    assertEquals(former.certificate(), both.issuing());
    assertEquals(both, both.follow(list(former, 1)), "the new CA does not issue yet");
    CaBundle issuing = both.follow(list(next, 2));
    assertEquals(List.of(next.certificate(), former.certificate()), issuing.certificates());
    assertTrue(issuing.isCurrent(renewed));
    assertFalse(issuing.isCurrent(old));
    Crl retired = list(next, 3, former.certificate());
    assertEquals(CaBundle.of(next.certificate()), issuing.follow(retired));
    refuses(issuing, Optional.of(retired), old);
    accepts(issuing, Optional.of(retired), renewed);
  }

  @Test
  @Tag("attack")
  @DisplayName("a CA is trusted by a certificate of a trusted CA alone")
  void foreign() {
    CertificateAuthority stranger = CertificateAuthority.create("Polis cluster CA");
    X509Certificate own = stranger.certificate();
    for (List<X509Certificate> claimed :
        List.of(
            List.of(own),
            List.of(own, own),
            List.of(former.certificate(), own),
            List.of(stranger.link(own), own),
            List.of(former.link(next.certificate()), own),
            List.of(former.issueUser("owner", own.getPublicKey()), own))) {
      assertThrows(IdentityException.class, () -> one.learn(claimed));
    }
    assertThrows(IdentityException.class, () -> both.follow(list(stranger, 9)));
    CaBundle last = CaBundle.of(next.certificate());
    assertThrows(
        IdentityException.class,
        () -> last.learn(List.of(former.link(own), own)),
        "a retired CA certifies no successor");
    assertThrows(IdentityException.class, () -> last.follow(list(former, 9)));
  }

  @Test
  @DisplayName("a node that was away over two rotations learns the newest CA by both links")
  void away() {
    CertificateAuthority third = CertificateAuthority.create("Polis cluster CA");
    List<X509Certificate> links =
        List.of(
            former.link(next.certificate()), next.link(third.certificate()), third.certificate());
    assertEquals(
        List.of(former.certificate(), third.certificate()), one.learn(links).certificates());
    assertEquals(one, one.learn(List.of()));
    assertEquals(both, both.learn(proof()));
  }

  @Test
  @DisplayName(
      "a node that was away over one rotation and meets the next one trusts the CA that issues, too")
  void awayBetween() {
    CertificateAuthority third = CertificateAuthority.create("Polis cluster CA");
    List<X509Certificate> links =
        List.of(
            former.link(next.certificate()),
            next.certificate(),
            next.link(third.certificate()),
            third.certificate());
    Crl list = list(next, 2, former.certificate());
    for (CaBundle before : List.of(one, both)) {
      CaBundle learned = before.learn(links);
      accepts(learned, Optional.empty(), renewed);
      accepts(learned, Optional.empty(), owner(third));
      assertEquals(
          List.of(next.certificate(), third.certificate()), learned.follow(list).certificates());
      refuses(learned.follow(list), Optional.of(list), old);
    }
    var key = Ed25519.generate();
    NodeCredentials own =
        new NodeCredentials(
            key.getPrivate(), former.issueNode(key.getPublic()), former.certificate());
    assertEquals(
        List.of(next.certificate(), third.certificate(), former.certificate()),
        own.adopting(one.learn(links).follow(list)).ca().certificates());
  }

  @Test
  @DisplayName("credentials keep the CA of their certificate until it is renewed")
  void credentials() {
    var key = Ed25519.generate();
    NodeCredentials own =
        new NodeCredentials(
            key.getPrivate(), former.issueNode(key.getPublic()), former.certificate());
    CaBundle last = CaBundle.of(next.certificate());
    assertEquals(
        List.of(next.certificate(), former.certificate()), own.adopting(last).ca().certificates());
    NodeCredentials after = own.adopting(last).renewed(next.issueNode(key.getPublic()));
    assertEquals(last, after.adopting(last).ca());
  }

  @Test
  @DisplayName("a bundle is read again from its PEM text")
  void pem() {
    assertEquals(both, CaBundle.fromPem(both.pem()));
    assertDoesNotThrow(() -> Identity.verifyCa(both.certificates().getLast()));
    assertThrows(PkiException.class, () -> CaBundle.fromPem(both.pem() + both.pem()));
    assertThrows(IdentityException.class, () -> CaBundle.of(old));
  }
}
