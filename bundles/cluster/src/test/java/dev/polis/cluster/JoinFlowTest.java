package dev.polis.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.pki.CaBundle;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class JoinFlowTest {

  @Test
  @DisplayName(
      "the refusal names the CA of a foreign certificate, and calls only broken credentials damaged")
  void foreign() {
    CertificateAuthority cluster = CertificateAuthority.create("test cluster");
    CaBundle ca = CaBundle.of(cluster.certificate());
    PkiException cause = new PkiException("the cause");
    String company = Pem.encode(CertificateAuthority.create("Company CA").certificate());
    assertEquals(
        "are not of this cluster: their certificate is issued by CN=Company CA, and not by the cluster's CA CN=test cluster",
        JoinFlow.why(company, ca, cause));
    assertEquals(
        "are damaged: the cause", JoinFlow.why(Pem.encode(cluster.certificate()), ca, cause));
  }
}
