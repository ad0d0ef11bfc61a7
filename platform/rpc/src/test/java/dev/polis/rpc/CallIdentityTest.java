package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.TestPki;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.TlsContexts;
import java.io.ByteArrayInputStream;
import java.lang.reflect.Proxy;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.InstantSource;
import java.util.List;
import javax.net.ssl.SSLSession;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class CallIdentityTest {
  private static final int STRANGERS = 50;

  private final CertificateAuthority ca = CertificateAuthority.create("Test cluster CA");
  private final CallIdentity identity =
      new CallIdentity(InstantSource.system(), LogTree.create().log("rpc"));

  /** Makes the session of a peer that shows a certificate. */
  private static SSLSession showing(X509Certificate certificate) {
    return (SSLSession)
        Proxy.newProxyInstance(
            CallIdentityTest.class.getClassLoader(),
            new Class<?>[] {SSLSession.class},
            (session, method, arguments) -> {
              assertEquals("getPeerCertificates", method.getName());
              return new Certificate[] {certificate};
            });
  }

  /** Reads a certificate without names, which the JDK does not cache, unlike others. */
  private static X509Certificate read(byte[] der) throws CertificateException {
    return (X509Certificate)
        CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(der));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a stranger's certificate is kept only during its connection, a member's is kept longer")
  void strangersAreForgotten() throws Exception {
    assertEquals(List.of("TLSv1.3"), TlsContexts.PROTOCOLS, "makes such certificates readable");
    identity.trust(dev.polis.pki.CaBundle.of(ca.certificate()));
    assertTrue(
        identity
            .member(showing(ca.issueUser("owner", Ed25519.generate().getPublic())))
            .isPresent());
    for (int stranger = 0; stranger < STRANGERS; stranger++) {
      byte[] der = TestPki.nameless(Ed25519.generate(), "Ed25519");
      assertFalse(identity.member(showing(read(der))).isPresent());
      der[der.length - 1] ^= 1; // in the signature
      assertFalse(identity.member(showing(read(der))).isPresent());
    }
    Await.until(
        "the member alone to be remembered",
        () -> {
          System.gc();
          return identity.remembered() == 1;
        });
  }
}
