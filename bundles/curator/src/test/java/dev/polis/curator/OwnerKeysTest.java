package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.curator.api.AaaApi;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.pki.Ed25519;
import dev.polis.pki.OwnerRotation;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsIdentity;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.ManagementGrpc.ManagementBlockingV2Stub;
import dev.polis.wire.cluster.CertificatesGrpc;
import dev.polis.wire.cluster.IssuedCertificate;
import dev.polis.wire.cluster.IssuedCertificate.State;
import dev.polis.wire.cluster.ListCertificatesRequest;
import dev.polis.wire.cluster.OwnerKeysGrpc;
import dev.polis.wire.cluster.RotateOwnerKeyRequest;
import dev.polis.wire.cluster.RotateOwnerKeyResponse;
import dev.polis.wire.curator.WatchEvent;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.security.KeyPair;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Rotates the owner's key of a cluster, and calls its listeners with both keys. */
@Timeout(120)
class OwnerKeysTest {

  @RegisterExtension static final SharedEtcd ETCD = new SharedEtcd();

  /** The time within which each listener must refuse a former key. */
  private static final Duration PROPAGATION = Duration.ofSeconds(1);

  private final KeyPair next = Ed25519.generate();

  private static RotateOwnerKeyRequest.Builder request(
      CuratorFixture leader, KeyPair present, KeyPair next) {
    return signed(leader.clusterCa().getPublicKey(), present, next);
  }

  private static RotateOwnerKeyRequest.Builder signed(
      PublicKey authority, KeyPair present, KeyPair next) {
    OwnerRotation rotation = new OwnerRotation(authority, present.getPublic(), next.getPublic());
    return RotateOwnerKeyRequest.newBuilder()
        .setPresentPublicKey(raw(present))
        .setNewPublicKey(raw(next))
        .setPresentSignature(ByteString.copyFrom(rotation.sign(present.getPrivate())))
        .setNewSignature(ByteString.copyFrom(rotation.sign(next.getPrivate())));
  }

  private static ByteString raw(KeyPair key) {
    return ByteString.copyFrom(Ed25519.raw(key.getPublic()));
  }

  private static RotateOwnerKeyResponse rotate(
      ManagedChannel channel, RotateOwnerKeyRequest.Builder request)
      throws StatusException, InterruptedException {
    return OwnerKeysGrpc.newBlockingV2Stub(channel)
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
        .rotateOwnerKey(request.build());
  }

  private static void rotate(CuratorFixture leader, KeyPair present, KeyPair next)
      throws Exception {
    Status answer = statusOf(leader.asOwner(present), request(leader, present, next));
    assertTrue(rotates(answer), answer::toString);
  }

  /** Returns whether a rotation may end so: the end of the caller's certificate may meet it. */
  private static boolean rotates(Status answer) {
    return answer.isOk() || answer.getCode() == Status.Code.UNAUTHENTICATED;
  }

  private static Status.Code read(ManagedChannel channel) throws Exception {
    ManagementBlockingV2Stub management =
        ManagementGrpc.newBlockingV2Stub(channel)
            .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
    return CuratorFixture.codeOf(
        () -> management.getClusterInfo(GetClusterInfoRequest.getDefaultInstance()));
  }

  private static List<IssuedCertificate> ofOwner(ManagedChannel channel) throws Exception {
    return CertificatesGrpc.newBlockingV2Stub(channel)
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
        .listCertificates(ListCertificatesRequest.getDefaultInstance())
        .getCertificatesList()
        .stream()
        .filter(each -> each.getHolder().equals(AaaApi.OWNER))
        .toList();
  }

  private static String refused(Status.Code code, CuratorFixture leader, KeyPair key) {
    return CuratorFixture.refused(
        code, () -> CuratorFixture.escrow(leader.asKey(key), AaaApi.OWNER, key));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a rotated owner's key is refused within a second, also on an open stream, and gets no certificate; the new one has all rights")
  void rotated() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      ManagedChannel former = leader.asOwner();
      BlockingClientCall<?, WatchEvent> stream = CuratorFixture.watchNodes(former);
      assertNotNull(stream.read(), "the backlog of the watch");
      String serial = ofOwner(former).getFirst().getSerial();

      MachineSpeed speed = MachineSpeed.measure();
      long began = System.nanoTime();
      Status answer = statusOf(former, request(leader, leader.ownerKey, next));
      StatusException ended =
          assertThrows(StatusException.class, () -> CuratorFixture.drain(stream));
      Await.until(
          CuratorFixture.SOON,
          "the former certificate to be refused",
          () -> read(former) == Status.Code.UNAUTHENTICATED);
      Duration took = Duration.ofNanos(System.nanoTime() - began);

      speed.assertWithin("the former owner's key was refused", PROPAGATION, took);
      assertTrue(rotates(answer), answer::toString);
      assertEquals(Status.Code.UNAUTHENTICATED, ended.getStatus().getCode());
      String denied = refused(Status.Code.PERMISSION_DENIED, leader, leader.ownerKey);
      assertTrue(denied.contains("no longer the owner's: the owner has replaced it"), denied);
      ManagedChannel owner = leader.asOwner(next);
      assertEquals(Status.Code.OK, read(owner));
      List<IssuedCertificate> all = ofOwner(owner);
      assertEquals(
          List.of(State.STATE_PRESENT, State.STATE_REVOKED),
          all.stream().map(IssuedCertificate::getState).toList());
      assertEquals(serial, all.getLast().getSerial());
    }
  }

  @Test
  @DisplayName("a rotation survives another instance of the curator, and may be followed by others")
  void rotatedAgain() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      KeyPair third = Ed25519.generate();
      rotate(leader, leader.ownerKey, next);
      leader.swap();
      assertEquals(Status.Code.OK, read(leader.asOwner(next)));

      rotate(leader, next, third);

      for (KeyPair former : List.of(leader.ownerKey, next)) {
        String denied = refused(Status.Code.PERMISSION_DENIED, leader, former);
        assertTrue(denied.contains("no longer the owner's"), denied);
      }
      assertEquals(
          List.of(State.STATE_PRESENT, State.STATE_REVOKED, State.STATE_REVOKED),
          ofOwner(leader.asOwner(third)).stream().map(IssuedCertificate::getState).toList());
    }
  }

  @Test
  @DisplayName("of two rotations at once one wins, and the other is refused with the reason")
  void atOnce() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<KeyPair> wanted = Stream.generate(Ed25519::generate).limit(4).toList();
      CountDownLatch begin = new CountDownLatch(1);
      List<Future<Status>> answers = new ArrayList<>();
      for (KeyPair key : wanted) {
        ManagedChannel owner = leader.asOwner();
        answers.add(
            threads.submit(
                () -> {
                  begin.await();
                  return statusOf(owner, request(leader, leader.ownerKey, key));
                }));
      }
      begin.countDown();

      int won = 0;
      for (int i = 0; i < wanted.size(); i++) {
        Status status = answers.get(i).get();
        KeyPair key = wanted.get(i);
        boolean accepted =
            CuratorFixture.codeOf(() -> CuratorFixture.escrow(leader.asKey(key), AaaApi.OWNER, key))
                == Status.Code.OK;
        won += accepted ? 1 : 0;
        if (status.getCode() == Status.Code.FAILED_PRECONDITION) {
          assertTrue(status.getDescription().contains("another rotation"), status.toString());
        } else if (status.getCode() != Status.Code.UNAUTHENTICATED) {
          assertEquals(Status.Code.OK, status.getCode(), status.toString());
          assertTrue(accepted, "a rotation that was answered is not the owner's key");
        }
      }
      assertEquals(1, won, "rotations that won");
    }
  }

  private static Status statusOf(ManagedChannel channel, RotateOwnerKeyRequest.Builder request)
      throws InterruptedException {
    try {
      rotate(channel, request);
      return Status.OK;
    } catch (StatusException refused) {
      return refused.getStatus();
    }
  }

  @Test
  @DisplayName("a repeated rotation changes nothing, and returns the certificate of the new key")
  void repeated() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      rotate(leader, leader.ownerKey, next);
      X509Certificate first = CuratorFixture.escrow(leader.asKey(next), AaaApi.OWNER, next);
      ManagedChannel owner = leader.as(TlsIdentity.of(next.getPrivate(), first));
      List<IssuedCertificate> before = ofOwner(owner);

      RotateOwnerKeyResponse again = rotate(owner, request(leader, leader.ownerKey, next));

      assertArrayEquals(Pem.der(first), again.getOwnerCertificate().toByteArray());
      assertEquals(before, ofOwner(owner));
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "neither a former certificate, nor a stranger, nor a node, nor a wrong signature rotates the owner's key")
  void attackers() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      KeyPair stranger = Ed25519.generate();
      KeyPair wanted = Ed25519.generate();
      TlsIdentity stolen =
          TlsIdentity.of(
              leader.ownerKey.getPrivate(),
              CuratorFixture.escrow(leader.asKey(leader.ownerKey), AaaApi.OWNER, leader.ownerKey));
      refusedRotation(
          Status.Code.UNAUTHENTICATED, leader.asKey(stranger), request(leader, stranger, wanted));
      refusedRotation(
          Status.Code.UNAUTHENTICATED,
          leader.asKey(leader.ownerKey),
          request(leader, leader.ownerKey, wanted));
      refusedRotation(
          Status.Code.PERMISSION_DENIED, leader.asNode(), request(leader, leader.ownerKey, wanted));
      refusedRotation(
          Status.Code.PERMISSION_DENIED, leader.asOwner(), request(leader, stranger, wanted));
      refusedRotation(
          Status.Code.PERMISSION_DENIED,
          leader.asOwner(),
          request(leader, leader.ownerKey, wanted)
              .setPresentSignature(request(leader, stranger, wanted).getPresentSignature()));
      refusedRotation(
          Status.Code.PERMISSION_DENIED,
          leader.asOwner(),
          request(leader, leader.ownerKey, wanted).setNewPublicKey(raw(stranger)));
      refusedRotation(
          Status.Code.PERMISSION_DENIED,
          leader.asOwner(),
          signed(stranger.getPublic(), leader.ownerKey, wanted));
      assertEquals(Status.Code.OK, read(leader.as(stolen)), "nothing was changed");

      rotate(leader, leader.ownerKey, next);

      // A listener may not know the revocation for a moment: then the signature decides.
      Status late = statusOf(leader.as(stolen), request(leader, leader.ownerKey, wanted));
      assertTrue(
          List.of(Status.Code.UNAUTHENTICATED, Status.Code.FAILED_PRECONDITION)
              .contains(late.getCode()),
          late.toString());
      ManagedChannel owner = leader.asOwner(next);
      String behind =
          refusedRotation(
              Status.Code.FAILED_PRECONDITION, owner, request(leader, leader.ownerKey, wanted));
      assertTrue(behind.contains("another rotation, or a recovery, has replaced it"), behind);
      String back =
          refusedRotation(
              Status.Code.FAILED_PRECONDITION, owner, request(leader, next, leader.ownerKey));
      assertTrue(back.contains("was the owner's before"), back);
      assertEquals(Status.Code.OK, read(owner), "the owner's key is still the new one");
      assertNotEquals(Status.Code.OK, read(leader.as(stolen)));
    }
  }

  @Test
  @DisplayName("a request without a key, or with one key twice, is refused and changes nothing")
  void invalid() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      ManagedChannel owner = leader.asOwner();
      String none =
          refusedRotation(Status.Code.INVALID_ARGUMENT, owner, RotateOwnerKeyRequest.newBuilder());
      assertTrue(none.contains("present_public_key has 0 bytes"), none);
      String same =
          refusedRotation(
              Status.Code.INVALID_ARGUMENT,
              owner,
              request(leader, leader.ownerKey, leader.ownerKey));
      assertTrue(same.contains("is the present key"), same);
      assertEquals(Status.Code.OK, read(owner));
    }
  }

  private static String refusedRotation(
      Status.Code code, ManagedChannel channel, RotateOwnerKeyRequest.Builder request) {
    return CuratorFixture.refused(code, () -> rotate(channel, request));
  }
}
