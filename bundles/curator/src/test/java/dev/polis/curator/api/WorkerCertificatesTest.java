package dev.polis.curator.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.curator.CuratorFixture;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Identity;
import dev.polis.pki.Pem;
import dev.polis.wire.api.UpdateNodeRolesRequest;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorGrpc.CuratorBlockingV2Stub;
import dev.polis.wire.curator.IssueCertificateRequest;
import dev.polis.wire.curator.IssueCertificateRequest.KubernetesWorker;
import dev.polis.wire.curator.IssueCertificateResponse;
import io.grpc.Status;
import java.net.InetAddress;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Issues the certificates of a Kubernetes worker over gRPC. */
@Timeout(120)
class WorkerCertificatesTest {

  private static final String ADDRESS = "127.5.3.2";

  /** (3 × 256 + 2) × 2 + 1 = 1541, in 198.18.0.0/15. */
  private static final String SANDBOX = "198.18.6.5";

  private static final KeyPair KUBELET = Ed25519.generate();
  private static final KeyPair PROVISIONER = Ed25519.generate();
  private static final KeyPair NETSERVICES = Ed25519.generate();

  private static CuratorFixture fixture;

  @BeforeAll
  static void start() throws Exception {
    fixture = CuratorFixture.leading();
    CuratorFixture.refused(Status.Code.PERMISSION_DENIED, () -> issue(request()));
    setWorker(true);
    CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> issue(request()));
    fixture.reportStatus(node(), ADDRESS);
  }

  @AfterAll
  static void stop() throws Exception {
    fixture.close();
  }

  private static void setWorker(boolean wanted) throws Exception {
    fixture
        .management()
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
        .updateNodeRoles(
            UpdateNodeRolesRequest.newBuilder()
                .setId(fixture.id.text())
                .setKubernetesWorker(wanted)
                .build());
  }

  private static CuratorBlockingV2Stub node() {
    return CuratorGrpc.newBlockingV2Stub(fixture.asNode())
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  private static KubernetesWorker.Builder request() {
    return KubernetesWorker.newBuilder()
        .setKubeletPubkey(raw(KUBELET))
        .setCsiProvisionerPubkey(raw(PROVISIONER))
        .setNetservicesPubkey(raw(NETSERVICES))
        .setWorkerAddress(SANDBOX);
  }

  private static ByteString raw(KeyPair key) {
    return ByteString.copyFrom(Ed25519.raw(key.getPublic()));
  }

  private static IssueCertificateResponse.KubernetesWorker issue(KubernetesWorker.Builder worker)
      throws Exception {
    return node()
        .issueCertificate(IssueCertificateRequest.newBuilder().setKubernetesWorker(worker).build())
        .getKubernetesWorker();
  }

  private static X509Certificate certificate(ByteString der) {
    return Pem.certificate(der.toByteArray());
  }

  @Test
  @DisplayName(
      "CUR-14 a worker gets four certificates over its keys, signed by the identity CA, and the same ones again")
  void cur14_issue() throws Exception {
    IssueCertificateResponse.KubernetesWorker issued = issue(request());
    String id = fixture.id.text();
    X509Certificate ca = certificate(issued.getIdentityCaCertificate());
    Identity.verifyCa(ca);
    assertIssued(
        issued.getKubeletServerCertificate(), ca, KUBELET, "system:node:" + id, "system:nodes");
    assertIssued(
        issued.getKubeletClientCertificate(), ca, KUBELET, "system:node:" + id, "system:nodes");
    assertIssued(
        issued.getCsiProvisionerCertificate(),
        ca,
        PROVISIONER,
        "polis:csi-provisioner:" + id,
        "polis:csi-provisioner");
    assertIssued(
        issued.getNetservicesCertificate(),
        ca,
        NETSERVICES,
        "polis:netservices:" + id,
        "polis:netservices");
    X509Certificate server = certificate(issued.getKubeletServerCertificate());
    assertEquals(List.of(Identity.SERVER_AUTH), Identity.usages(server));
    assertEquals(List.of(id), Identity.dnsNames(server));
    assertEquals(
        Set.of(InetAddress.ofLiteral(ADDRESS), InetAddress.ofLiteral(SANDBOX)),
        Identity.addresses(server));
    assertEquals(issued, issue(request()), "asked for again");
  }

  private static void assertIssued(
      ByteString der, X509Certificate ca, KeyPair key, String user, String group) {
    X509Certificate certificate = certificate(der);
    Identity.verifySignedBy(certificate, ca);
    assertEquals(key.getPublic(), certificate.getPublicKey());
    assertEquals(user, Identity.commonName(certificate).orElseThrow());
    assertEquals(List.of(group), Identity.organizations(certificate));
  }

  @Test
  @Tag("attack")
  @DisplayName("CUR-14 another key for any of the three programs is refused")
  void cur14_otherKey() throws Exception {
    issue(request());
    ByteString other = raw(Ed25519.generate());
    for (KubernetesWorker.Builder wrong :
        List.of(
            request().setKubeletPubkey(other),
            request().setCsiProvisionerPubkey(other),
            request().setNetservicesPubkey(other))) {
      CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> issue(wrong));
    }
  }

  @Test
  @DisplayName(
      "an invalid key, a missing kind, and the address of another node's sandbox are refused")
  void badInput() {
    CuratorFixture.refused(
        Status.Code.INVALID_ARGUMENT,
        () -> issue(request().setKubeletPubkey(ByteString.copyFromUtf8("short"))));
    CuratorFixture.refused(
        Status.Code.INVALID_ARGUMENT,
        () -> node().issueCertificate(IssueCertificateRequest.getDefaultInstance()));
    CuratorFixture.refused(
        Status.Code.INVALID_ARGUMENT, () -> issue(request().setWorkerAddress("sandbox")));
    for (String others : List.of("198.18.6.7", "192.0.2.1", "127.5.3.3", "::1")) {
      CuratorFixture.refused(
          Status.Code.PERMISSION_DENIED, () -> issue(request().setWorkerAddress(others)));
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a node that reports another machine's address is refused and gets no certificate for it")
  void addressElsewhere() throws Exception {
    for (String elsewhere : List.of("192.0.2.1", "10.0.0.1", "2001:db8::1")) {
      String refusal =
          CuratorFixture.refused(
              Status.Code.PERMISSION_DENIED, () -> fixture.reportStatus(node(), elsewhere));
      assertTrue(refusal.contains(elsewhere) && refusal.contains("127.0.0.1"), refusal);
    }
    assertEquals(
        Set.of(InetAddress.ofLiteral(ADDRESS), InetAddress.ofLiteral(SANDBOX)),
        Identity.addresses(certificate(issue(request()).getKubeletServerCertificate())));
  }

  @Test
  @Tag("attack")
  @DisplayName("a user is refused: certificates of a worker are for nodes only")
  void usersAreRefused() throws Exception {
    CuratorBlockingV2Stub owner = CuratorGrpc.newBlockingV2Stub(fixture.asOwner());
    CuratorFixture.refused(
        Status.Code.PERMISSION_DENIED,
        () ->
            owner.issueCertificate(
                IssueCertificateRequest.newBuilder().setKubernetesWorker(request()).build()));
  }
}
