package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.curator.api.AaaApi;
import dev.polis.curator.record.RecordKeys;
import dev.polis.etcd.EtcdClient;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.pki.Ed25519;
import dev.polis.pki.OwnerRotation;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.pki.RecoveryKey;
import dev.polis.pki.RecoveryProof;
import dev.polis.pki.TlsIdentity;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.cluster.CertificatesGrpc;
import dev.polis.wire.cluster.GetRecoveryChallengeRequest;
import dev.polis.wire.cluster.GetRecoveryChallengeResponse;
import dev.polis.wire.cluster.OwnerKeysGrpc;
import dev.polis.wire.cluster.OwnerKeysGrpc.OwnerKeysBlockingV2Stub;
import dev.polis.wire.cluster.RecoverOwnerKeyRequest;
import dev.polis.wire.cluster.RevokeCertificatesRequest;
import dev.polis.wire.cluster.RotateOwnerKeyRequest;
import dev.polis.wire.cluster.SetRecoveryKeyRequest;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.stored.InitialOwner;
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

/** Replaces the owner's key by the recovery key, as its holder and as others. */
@Timeout(120)
class OwnerRecoveryTest {

  @RegisterExtension static final SharedEtcd ETCD = new SharedEtcd();

  /** The time within which each listener must refuse a former key. */
  private static final Duration PROPAGATION = Duration.ofSeconds(1);

  private final KeyPair next = Ed25519.generate();

  private static OwnerKeysBlockingV2Stub stub(ManagedChannel channel) {
    return OwnerKeysGrpc.newBlockingV2Stub(channel)
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  private static ByteString raw(KeyPair key) {
    return ByteString.copyFrom(Ed25519.raw(key.getPublic()));
  }

  private static ByteString publicHalf(String recoveryKey) {
    return ByteString.copyFrom(RecoveryKey.publicKey(recoveryKey));
  }

  private static GetRecoveryChallengeResponse challenge(ManagedChannel channel, ByteString key)
      throws StatusException, InterruptedException {
    return stub(channel)
        .getRecoveryChallenge(GetRecoveryChallengeRequest.newBuilder().setNewKey(key).build());
  }

  private static byte[] answer(String recoveryKey, GetRecoveryChallengeResponse given) {
    return RecoveryKey.open(
        RecoveryKey.Use.CHALLENGE,
        RecoveryKey.privateKey(recoveryKey),
        new RecoveryKey.Sealed(
            given.getEncapsulatedKey().toByteArray(), given.getCiphertext().toByteArray()));
  }

  private static RecoverOwnerKeyRequest request(
      PublicKey authority, KeyPair next, byte[] answer, GetRecoveryChallengeResponse given) {
    byte[] proof =
        RecoveryProof.ofOwner(authority, next.getPublic(), given.getChallenge().toByteArray())
            .by(answer);
    return RecoverOwnerKeyRequest.newBuilder()
        .setChallenge(given.getChallenge())
        .setProof(ByteString.copyFrom(proof))
        .build();
  }

  /** Makes the request of the holder of the recovery key. */
  private static RecoverOwnerKeyRequest request(CuratorFixture leader, KeyPair next)
      throws Exception {
    return request(leader, leader.asKey(next), next);
  }

  private static RecoverOwnerKeyRequest request(
      CuratorFixture leader, ManagedChannel channel, KeyPair next) throws Exception {
    GetRecoveryChallengeResponse given = challenge(channel, raw(next));
    return request(
        leader.clusterCa().getPublicKey(), next, answer(leader.recoveryKey, given), given);
  }

  private static X509Certificate recover(ManagedChannel channel, RecoverOwnerKeyRequest request)
      throws StatusException, InterruptedException {
    return Pem.certificate(
        stub(channel).recoverOwnerKey(request).getOwnerCertificate().toByteArray());
  }

  private static X509Certificate recover(CuratorFixture leader, KeyPair next) throws Exception {
    return recover(leader.asKey(next), request(leader, next));
  }

  private static Status statusOf(ManagedChannel channel, RecoverOwnerKeyRequest request)
      throws InterruptedException {
    try {
      recover(channel, request);
      return Status.OK;
    } catch (StatusException refused) {
      return refused.getStatus();
    }
  }

  private static String refused(
      Status.Code code, ManagedChannel channel, RecoverOwnerKeyRequest request) {
    return CuratorFixture.refused(code, () -> recover(channel, request));
  }

  /** Rotates the owner's key with the signatures of both keys. */
  private static Status rotate(CuratorFixture leader, KeyPair present, KeyPair next)
      throws Exception {
    OwnerRotation rotation =
        new OwnerRotation(leader.clusterCa().getPublicKey(), present.getPublic(), next.getPublic());
    RotateOwnerKeyRequest request =
        RotateOwnerKeyRequest.newBuilder()
            .setPresentPublicKey(raw(present))
            .setNewPublicKey(raw(next))
            .setPresentSignature(ByteString.copyFrom(rotation.sign(present.getPrivate())))
            .setNewSignature(ByteString.copyFrom(rotation.sign(next.getPrivate())))
            .build();
    try {
      stub(leader.asOwner(present)).rotateOwnerKey(request);
      return Status.OK;
    } catch (StatusException answer) {
      return answer.getStatus();
    }
  }

  private static Status.Code read(ManagedChannel channel) throws Exception {
    return CuratorFixture.codeOf(
        () ->
            ManagementGrpc.newBlockingV2Stub(channel)
                .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
                .getClusterInfo(GetClusterInfoRequest.getDefaultInstance()));
  }

  private static String escrowRefused(CuratorFixture leader, KeyPair key) {
    return CuratorFixture.refused(
        Status.Code.PERMISSION_DENIED,
        () -> CuratorFixture.escrow(leader.asKey(key), AaaApi.OWNER, key));
  }

  private static InitialOwner record(CuratorFixture leader) throws Exception {
    try (EtcdClient records = leader.records()) {
      return InitialOwner.parseFrom(
          records.kv().get(RecordKeys.INITIAL_OWNER).orElseThrow().value());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "the recovery key takes the cluster back from a thief that has rotated the owner's key: the thief is refused within a second, also on an open stream, and rotates nothing")
  void recovered() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      KeyPair thief = Ed25519.generate();
      Status stolen = rotate(leader, leader.ownerKey, thief);
      assertTrue(
          stolen.isOk() || stolen.getCode() == Status.Code.UNAUTHENTICATED, stolen::toString);
      ManagedChannel present = leader.asOwner(thief);
      BlockingClientCall<?, WatchEvent> stream = CuratorFixture.watchNodes(present);
      assertNotNull(stream.read(), "the backlog of the watch");

      MachineSpeed speed = MachineSpeed.measure();
      long began = System.nanoTime();
      X509Certificate issued = recover(leader, next);
      StatusException ended =
          assertThrows(StatusException.class, () -> CuratorFixture.drain(stream));
      Await.until(
          CuratorFixture.SOON,
          "the certificate of the thief to be refused",
          () -> read(present) == Status.Code.UNAUTHENTICATED);
      Duration took = Duration.ofNanos(System.nanoTime() - began);

      speed.assertWithin("the thief was refused", PROPAGATION, took);
      assertEquals(Status.Code.UNAUTHENTICATED, ended.getStatus().getCode());
      ManagedChannel owner = leader.as(TlsIdentity.of(next.getPrivate(), issued));
      assertEquals(Status.Code.OK, read(owner));
      for (KeyPair former : List.of(leader.ownerKey, thief)) {
        String denied = escrowRefused(leader, former);
        assertTrue(denied.contains("the holder of the recovery key"), denied);
        KeyPair wanted = Ed25519.generate();
        OwnerRotation rotation =
            new OwnerRotation(
                leader.clusterCa().getPublicKey(), former.getPublic(), wanted.getPublic());
        RotateOwnerKeyRequest late =
            RotateOwnerKeyRequest.newBuilder()
                .setPresentPublicKey(raw(former))
                .setNewPublicKey(raw(wanted))
                .setPresentSignature(ByteString.copyFrom(rotation.sign(former.getPrivate())))
                .setNewSignature(ByteString.copyFrom(rotation.sign(wanted.getPrivate())))
                .build();
        // As if a listener did not know the revocation yet: the signature decides.
        String behind =
            CuratorFixture.refused(
                Status.Code.FAILED_PRECONDITION, () -> stub(owner).rotateOwnerKey(late));
        assertTrue(behind.contains("or a recovery, has replaced it"), behind);
      }
      assertEquals(raw(next), record(leader).getPublicKey());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a thief that rotates the owner's key without end delays no recovery")
  void rotatingThief() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      ManagedChannel holder = leader.asKey(next);
      CountDownLatch rotated = new CountDownLatch(2);
      Future<KeyPair> thief =
          threads.submit(
              () -> {
                KeyPair present = leader.ownerKey;
                while (true) {
                  KeyPair wanted = Ed25519.generate();
                  Status.Code code;
                  try {
                    code = rotate(leader, present, wanted).getCode();
                  } catch (StatusException refused) {
                    code = refused.getStatus().getCode();
                  }
                  if (code == Status.Code.FAILED_PRECONDITION
                      || code == Status.Code.PERMISSION_DENIED) {
                    return present;
                  }
                  if (code == Status.Code.OK || code == Status.Code.UNAUTHENTICATED) {
                    present = wanted;
                    rotated.countDown();
                  }
                }
              });
      assertTrue(
          rotated.await(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS),
          "the thief did not rotate the key twice");

      RecoverOwnerKeyRequest request = request(leader, holder, next);
      Await.until(
          CuratorFixture.SOON,
          "the recovery to be accepted beside the rotations",
          () -> {
            Status.Code code = statusOf(holder, request).getCode();
            assertTrue(code == Status.Code.OK || code == Status.Code.UNAVAILABLE, code::toString);
            return code == Status.Code.OK;
          });

      KeyPair last = thief.get(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
      assertTrue(escrowRefused(leader, last).contains("owner"), "the thief's last key");
      assertEquals(Status.Code.OK, read(leader.asOwner(next)));
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "neither a stranger, nor a member, nor another recovery key, nor a proof for another key or cluster recovers the owner's key")
  void attackers() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      KeyPair other = Ed25519.generate();
      PublicKey authority = leader.clusterCa().getPublicKey();
      GetRecoveryChallengeResponse given = challenge(leader.asNobody(), raw(next));
      byte[] answer = answer(leader.recoveryKey, given);
      RecoverOwnerKeyRequest right = request(authority, next, answer, given);
      InitialOwner before = record(leader);

      assertThrows(PkiException.class, () -> answer(RecoveryKey.generate(), given));
      for (ManagedChannel keyless : List.of(leader.asNobody(), leader.asNode(), leader.asOwner())) {
        refused(Status.Code.UNAUTHENTICATED, keyless, right);
      }
      String another = refused(Status.Code.FAILED_PRECONDITION, leader.asKey(other), right);
      assertTrue(another.contains("was given for another key"), another);
      for (RecoverOwnerKeyRequest wrong :
          List.of(
              request(authority, next, new byte[RecoveryProof.ANSWER_BYTES], given),
              request(other.getPublic(), next, answer, given),
              request(authority, other, answer, given))) {
        String denied = refused(Status.Code.PERMISSION_DENIED, leader.asKey(next), wrong);
        assertTrue(denied.contains("not by the recovery key of this cluster"), denied);
      }
      for (RecoverOwnerKeyRequest wrong :
          List.of(
              RecoverOwnerKeyRequest.getDefaultInstance(),
              right.toBuilder().clearProof().build())) {
        refused(Status.Code.INVALID_ARGUMENT, leader.asKey(next), wrong);
      }
      CuratorFixture.refused(
          Status.Code.INVALID_ARGUMENT,
          () -> challenge(leader.asNobody(), ByteString.copyFromUtf8("short")));
      assertEquals(before, record(leader), "nothing was changed");

      assertEquals(Status.OK, statusOf(leader.asKey(next), right));
    }
  }

  @Test
  @DisplayName(
      "a repeated recovery returns the same certificate and changes nothing; after the next one its proof is worth nothing")
  void repeated() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      KeyPair third = Ed25519.generate();
      RecoverOwnerKeyRequest request = request(leader, next);
      X509Certificate first = recover(leader.asKey(next), request);
      InitialOwner after = record(leader);

      X509Certificate again = recover(leader.asKey(next), request);

      assertArrayEquals(Pem.der(first), Pem.der(again));
      assertEquals(after, record(leader));
      recover(leader, third);
      String replayed = refused(Status.Code.FAILED_PRECONDITION, leader.asKey(next), request);
      assertTrue(replayed.contains("the challenge is not valid here"), replayed);
      RecoverOwnerKeyRequest back = request(leader, next);
      String former = refused(Status.Code.FAILED_PRECONDITION, leader.asKey(next), back);
      assertTrue(former.contains("was the owner's before"), former);
      assertEquals(raw(third), record(leader).getPublicKey());
    }
  }

  @Test
  @DisplayName("of recoveries at once one wins, and the others are refused with the reason")
  void atOnce() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<KeyPair> wanted = Stream.generate(Ed25519::generate).limit(4).toList();
      CountDownLatch begin = new CountDownLatch(1);
      List<Future<Status>> answers = new ArrayList<>();
      for (KeyPair key : wanted) {
        RecoverOwnerKeyRequest request = request(leader, key);
        ManagedChannel holder = leader.asKey(key);
        answers.add(
            threads.submit(
                () -> {
                  begin.await();
                  return statusOf(holder, request);
                }));
      }
      begin.countDown();

      List<KeyPair> won = new ArrayList<>();
      for (int i = 0; i < wanted.size(); i++) {
        Status status = answers.get(i).get();
        if (status.isOk()) {
          won.add(wanted.get(i));
        } else {
          assertEquals(Status.Code.FAILED_PRECONDITION, status.getCode(), status.toString());
          assertTrue(
              status.getDescription().contains("has been replaced by the recovery key since"),
              status.toString());
        }
      }
      assertEquals(1, won.size(), "recoveries that won");
      assertEquals(raw(won.getFirst()), record(leader).getPublicKey());
    }
  }

  @Test
  @DisplayName("a challenge of the curator that led before is refused with the remedy")
  void otherLeader() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      RecoverOwnerKeyRequest request = request(leader, next);
      leader.swap();

      String refused = refused(Status.Code.FAILED_PRECONDITION, leader.asKey(next), request);

      assertTrue(refused.contains("another node led when it was given"), refused);
      recover(leader, next);
      assertEquals(Status.Code.OK, read(leader.asOwner(next)));
    }
  }

  @Test
  @DisplayName(
      "D-37 the recovery key gives a cluster an owner again whose certificates were all revoked")
  void revokedOwner() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      Status.Code revoked =
          CuratorFixture.codeOf(
              () ->
                  CertificatesGrpc.newBlockingV2Stub(leader.asOwner())
                      .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
                      .revokeCertificates(
                          RevokeCertificatesRequest.newBuilder()
                              .setUser(AaaApi.OWNER)
                              .setForce(true)
                              .build()));
      assertTrue(
          revoked == Status.Code.OK || revoked == Status.Code.UNAUTHENTICATED, revoked::toString);
      CuratorFixture.refused(
          Status.Code.FAILED_PRECONDITION,
          () ->
              CuratorFixture.escrow(leader.asKey(leader.ownerKey), AaaApi.OWNER, leader.ownerKey));

      recover(leader, next);

      assertEquals(Status.Code.OK, read(leader.asOwner(next)));
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a cluster without a recovery key says so; the owner names one, and only that one appoints its successor")
  void named() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      leader.put(
          RecordKeys.INITIAL_OWNER,
          record(leader).toBuilder().clearRecoveryPublicKey().build().toByteArray());
      String none =
          CuratorFixture.refused(
              Status.Code.FAILED_PRECONDITION, () -> challenge(leader.asKey(next), raw(next)));
      assertTrue(none.contains("the cluster knows no recovery key"), none);
      String second = RecoveryKey.generate();
      SetRecoveryKeyRequest first =
          SetRecoveryKeyRequest.newBuilder()
              .setRecoveryPublicKey(publicHalf(leader.recoveryKey))
              .build();
      OwnerKeysBlockingV2Stub owner = stub(leader.asOwner());
      owner.setRecoveryKey(first);
      owner.setRecoveryKey(first);
      SetRecoveryKeyRequest unproved =
          SetRecoveryKeyRequest.newBuilder().setRecoveryPublicKey(publicHalf(second)).build();
      String thief =
          CuratorFixture.refused(
              Status.Code.FAILED_PRECONDITION, () -> owner.setRecoveryKey(unproved));
      assertTrue(thief.contains("which alone appoints its successor"), thief);
      CuratorFixture.refused(
          Status.Code.INVALID_ARGUMENT,
          () ->
              owner.setRecoveryKey(
                  first.toBuilder()
                      .setRecoveryPublicKey(ByteString.copyFrom(new byte[31]))
                      .build()));
      String unusable =
          CuratorFixture.refused(
              Status.Code.FAILED_PRECONDITION,
              () ->
                  owner.setRecoveryKey(
                      first.toBuilder()
                          .setRecoveryPublicKey(ByteString.copyFrom(new byte[32]))
                          .build()));
      assertTrue(unusable.contains("unusable"), unusable);

      GetRecoveryChallengeResponse given = challenge(leader.asOwner(), publicHalf(second));
      RecoveryProof proof =
          RecoveryProof.ofRecoveryKey(
              leader.clusterCa().getPublicKey(),
              RecoveryKey.publicKey(second),
              given.getChallenge().toByteArray());
      SetRecoveryKeyRequest wrong =
          unproved.toBuilder()
              .setChallenge(given.getChallenge())
              .setProof(ByteString.copyFrom(proof.by(new byte[RecoveryProof.ANSWER_BYTES])))
              .build();
      CuratorFixture.refused(Status.Code.PERMISSION_DENIED, () -> owner.setRecoveryKey(wrong));
      assertEquals(publicHalf(leader.recoveryKey), record(leader).getRecoveryPublicKey());
      owner.setRecoveryKey(
          wrong.toBuilder()
              .setProof(ByteString.copyFrom(proof.by(answer(leader.recoveryKey, given))))
              .build());

      assertEquals(publicHalf(second), record(leader).getRecoveryPublicKey());
      GetRecoveryChallengeResponse later = challenge(leader.asKey(next), raw(next));
      assertThrows(PkiException.class, () -> answer(leader.recoveryKey, later));
      recover(
          leader.asKey(next),
          request(leader.clusterCa().getPublicKey(), next, answer(second, later), later));
      assertEquals(Status.Code.OK, read(leader.asOwner(next)));
    }
  }
}
