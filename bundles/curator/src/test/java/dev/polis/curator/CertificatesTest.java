package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.curator.api.AaaApi;
import dev.polis.curator.record.CuratorPki;
import dev.polis.etcd.EtcdClient;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.TlsIdentity;
import dev.polis.wire.cluster.CertificatesGrpc;
import dev.polis.wire.cluster.CertificatesGrpc.CertificatesBlockingV2Stub;
import dev.polis.wire.cluster.IssuedCertificate;
import dev.polis.wire.cluster.IssuedCertificate.State;
import dev.polis.wire.cluster.ListCertificatesRequest;
import dev.polis.wire.cluster.RevokeCertificatesRequest;
import dev.polis.wire.cluster.RevokeCertificatesResponse;
import dev.polis.wire.curator.WatchEvent;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(120)
class CertificatesTest {

  @RegisterExtension static final SharedEtcd ETCD = new SharedEtcd();

  /** The time within which each listener must refuse a revoked certificate. */
  private static final Duration PROPAGATION = Duration.ofSeconds(1);

  private final KeyPair key = Ed25519.generate();
  private final NodeId node = NodeId.of(key.getPublic());

  private static CertificatesBlockingV2Stub certificates(io.grpc.Channel channel) {
    return CertificatesGrpc.newBlockingV2Stub(channel)
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  private static List<IssuedCertificate> list(CertificatesBlockingV2Stub owner) throws Exception {
    return owner
        .listCertificates(ListCertificatesRequest.getDefaultInstance())
        .getCertificatesList();
  }

  private static State state(List<IssuedCertificate> all, X509Certificate one) {
    return all.stream()
        .filter(each -> each.getSerial().equals(serial(one)))
        .map(IssuedCertificate::getState)
        .findFirst()
        .orElseThrow();
  }

  private static String serial(X509Certificate certificate) {
    return certificate.getSerialNumber().toString(16);
  }

  private static RevokeCertificatesRequest.Builder request() {
    return RevokeCertificatesRequest.newBuilder();
  }

  /** Issues a certificate of the node at a time before now. */
  private X509Certificate issue(EtcdClient etcd, Duration ago) throws Exception {
    InstantSource then = () -> Instant.now().minus(ago);
    return new CuratorPki(etcd, etcd.kv(), then).ensureNode(node, key.getPublic());
  }

  private TlsIdentity identity(X509Certificate certificate) {
    return TlsIdentity.of(key.getPrivate(), certificate);
  }

  private static Status.Code read(CuratorFixture fixture, TlsIdentity identity) throws Exception {
    return CuratorFixture.codeOf(() -> list(certificates(fixture.as(identity))));
  }

  @Test
  @DisplayName("all certificates are listed with holder, life and state")
  void listed() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        EtcdClient etcd = leader.records()) {
      X509Certificate former = issue(etcd, CertificateTemplate.NODE_LIFETIME.minusDays(5));
      X509Certificate present = issue(etcd, Duration.ZERO);
      assertNotEquals(former, present);

      List<IssuedCertificate> all = list(certificates(leader.asOwner()));

      assertEquals(State.STATE_SUPERSEDED, state(all, former));
      assertEquals(State.STATE_PRESENT, state(all, present));
      assertEquals(
          State.STATE_PRESENT, state(all, leader.credentials().certificate()), "the leader");
      IssuedCertificate old =
          all.stream().filter(each -> each.getSerial().equals(serial(former))).findFirst().get();
      assertEquals(IssuedCertificate.Kind.KIND_NODE, old.getKind());
      assertEquals(node.text(), old.getHolder());
      assertEquals(
          former.getNotBefore().toInstant().getEpochSecond(), old.getNotBefore().getSeconds());
      assertEquals(
          former.getNotAfter().toInstant().getEpochSecond(), old.getNotAfter().getSeconds());
      assertTrue(
          all.stream()
              .anyMatch(
                  each ->
                      each.getKind() == IssuedCertificate.Kind.KIND_USER
                          && each.getHolder().equals(AaaApi.OWNER)),
          all::toString);
      assertEquals(4, all.size(), "two of the node, one of the leader and of the owner: " + all);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a revoked former certificate, then a revoked node, is refused within a second, also on an open stream")
  void revokedNode() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        EtcdClient etcd = leader.records()) {
      CertificatesBlockingV2Stub owner = certificates(leader.asOwner());
      X509Certificate former = issue(etcd, CertificateTemplate.NODE_LIFETIME.minusDays(5));
      X509Certificate present = issue(etcd, Duration.ZERO);
      assertEquals(Status.Code.OK, read(leader, identity(former)));

      RevokeCertificatesResponse one =
          owner.revokeCertificates(request().setSerial(serial(former)).build());

      assertEquals(List.of(), one.getConsequencesList());
      assertEquals(State.STATE_REVOKED, one.getRevoked(0).getState());
      Await.until(
          CuratorFixture.SOON,
          "the former certificate to be refused",
          () -> read(leader, identity(former)) == Status.Code.UNAUTHENTICATED);
      assertEquals(Status.Code.OK, read(leader, identity(present)), "the newer one");

      BlockingClientCall<?, WatchEvent> stream =
          CuratorFixture.watchNodes(leader.as(identity(present)));
      assertNotNull(stream.read(), "the backlog of the watch");
      String refused =
          CuratorFixture.refused(
              Status.Code.FAILED_PRECONDITION,
              () -> owner.revokeCertificates(request().setSerial(serial(present)).build()));
      assertTrue(refused.contains(node + " leaves the cluster for good"), refused);
      assertEquals(Status.Code.OK, read(leader, identity(present)), "nothing was revoked");

      MachineSpeed speed = MachineSpeed.measure();
      long began = System.nanoTime();
      RevokeCertificatesResponse all =
          owner.revokeCertificates(request().setNode(node.text()).setForce(true).build());
      StatusException ended =
          assertThrows(StatusException.class, () -> CuratorFixture.drain(stream));
      Duration took = Duration.ofNanos(System.nanoTime() - began);

      speed.assertWithin("the stream of the revoked node ended", PROPAGATION, took);
      assertEquals(Status.Code.UNAUTHENTICATED, ended.getStatus().getCode());
      assertEquals(Status.Code.UNAUTHENTICATED, read(leader, identity(present)));
      assertEquals(2, all.getRevokedCount());
      assertEquals(State.STATE_REVOKED, state(list(owner), present));
      assertEquals(
          all.getRevokedList(),
          owner.revokeCertificates(request().setNode(node.text()).build()).getRevokedList(),
          "once more changes nothing");
    }
  }

  @Test
  @DisplayName("what cannot be revoked is refused with the closest known name, and changes nothing")
  void refusals() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      CertificatesBlockingV2Stub owner = certificates(leader.asOwner());
      List<IssuedCertificate> before = list(owner);
      String self = leader.id.text();
      String other = self.substring(0, self.length() - 1) + (self.endsWith("0") ? "1" : "0");

      assertRefused(
          owner, Status.Code.NOT_FOUND, request().setNode(other), "did you mean \"" + self + "\"?");
      assertRefused(
          owner, Status.Code.NOT_FOUND, request().setUser("ownre"), "did you mean \"owner\"?");
      assertRefused(
          owner, Status.Code.NOT_FOUND, request().setSerial("abc"), "has the serial number abc");
      assertRefused(
          owner, Status.Code.INVALID_ARGUMENT, request().setSerial("x"), "is no serial number");
      assertRefused(
          owner, Status.Code.INVALID_ARGUMENT, request(), "set one of serial, node, user");
      assertRefused(
          owner,
          Status.Code.FAILED_PRECONDITION,
          request().setNode(self).setForce(true),
          "is the only ConsensusMember");
      assertRefused(
          owner,
          Status.Code.FAILED_PRECONDITION,
          request().setUser(AaaApi.OWNER),
          "no command that gives access is accepted any more");
      assertEquals(before, list(owner));
    }
  }

  private static void assertRefused(
      CertificatesBlockingV2Stub owner,
      Status.Code code,
      RevokeCertificatesRequest.Builder request,
      String words)
      throws Exception {
    String refused = CuratorFixture.refused(code, () -> owner.revokeCertificates(request.build()));
    assertTrue(refused.contains(words), refused);
  }

  @Test
  @Tag("attack")
  @DisplayName("a revoked owner is refused within a second, and gets no certificate again")
  void revokedOwner() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      CertificatesBlockingV2Stub owner = certificates(leader.asOwner());
      assertEquals(Status.Code.OK, CuratorFixture.codeOf(() -> list(owner)));
      MachineSpeed speed = MachineSpeed.measure();
      long began = System.nanoTime();

      Status.Code answer =
          CuratorFixture.codeOf(
              () ->
                  owner.revokeCertificates(request().setUser(AaaApi.OWNER).setForce(true).build()));

      // The answer may meet the end of the caller's own connection.
      assertTrue(answer == Status.Code.OK || answer == Status.Code.UNAUTHENTICATED, answer::name);
      Await.until(
          CuratorFixture.SOON,
          "the revoked owner to be refused",
          () -> CuratorFixture.codeOf(() -> list(owner)) == Status.Code.UNAUTHENTICATED);
      Duration took = Duration.ofNanos(System.nanoTime() - began);
      speed.assertWithin("the revoked owner was refused", PROPAGATION, took);
      assertNotEquals(
          Status.Code.OK,
          CuratorFixture.codeOf(() -> leader.owner(leader.address())),
          "a new certificate");
    }
  }
}
