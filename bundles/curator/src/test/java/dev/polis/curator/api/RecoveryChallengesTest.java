package dev.polis.curator.api;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.pki.Ed25519;
import dev.polis.pki.PkiException;
import dev.polis.pki.RecoveryKey;
import dev.polis.pki.RecoveryProof;
import dev.polis.rpc.RpcException;
import dev.polis.wire.cluster.GetRecoveryChallengeResponse;
import dev.polis.wire.curator.stored.InitialOwner;
import io.grpc.Status;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Answers challenges of the recovery key, in time and late, rightly and wrongly. */
class RecoveryChallengesTest {

  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 1);
  private final RecoveryChallenges challenges = another();
  private final String pem = RecoveryKey.generate();
  private final PublicKey authority = Ed25519.generate().getPublic();
  private final PublicKey next = Ed25519.generate().getPublic();
  private final InitialOwner owner =
      InitialOwner.newBuilder()
          .setPublicKey(raw(Ed25519.generate().getPublic()))
          .setRecoveryPublicKey(ByteString.copyFrom(RecoveryKey.publicKey(pem)))
          .build();
  private final GetRecoveryChallengeResponse given = challenges.give(owner, raw(next));

  private RecoveryChallenges another() {
    return new RecoveryChallenges(new SecureRandom(), nanos::get);
  }

  private static ByteString raw(PublicKey key) {
    return ByteString.copyFrom(Ed25519.raw(key));
  }

  private static byte[] answer(String pem, GetRecoveryChallengeResponse given) {
    return RecoveryKey.open(
        RecoveryKey.Use.CHALLENGE,
        RecoveryKey.privateKey(pem),
        new RecoveryKey.Sealed(
            given.getEncapsulatedKey().toByteArray(), given.getCiphertext().toByteArray()));
  }

  private RecoveryProof wanted(PublicKey key) {
    return RecoveryProof.ofOwner(authority, key, given.getChallenge().toByteArray());
  }

  private void check(RecoveryChallenges by, InitialOwner record, PublicKey key, byte[] proof) {
    by.requireProved(
        record, raw(key), given.getChallenge(), wanted(key), ByteString.copyFrom(proof));
  }

  private void check(RecoveryChallenges by, InitialOwner record, PublicKey key) {
    check(by, record, key, wanted(key).by(answer(pem, given)));
  }

  private static String refused(Status.Code code, Runnable check) {
    RpcException refusal = assertThrows(RpcException.class, check::run);
    assertEquals(code, refusal.code(), refusal.getMessage());
    return refusal.getMessage();
  }

  @Test
  @DisplayName("the holder of the recovery key proves a key, also after the owner's was rotated")
  void proved() {
    assertDoesNotThrow(() -> check(challenges, owner, next));
    InitialOwner rotated =
        owner.toBuilder()
            .addFormerPublicKey(owner.getPublicKey())
            .setPublicKey(raw(Ed25519.generate().getPublic()))
            .build();
    assertDoesNotThrow(() -> check(challenges, rotated, next));
  }

  @Test
  @DisplayName("a challenge ends after two minutes, and the refusal says so")
  void ended() {
    nanos.addAndGet(RecoveryChallenges.TERM.toNanos());
    assertDoesNotThrow(() -> check(challenges, owner, next));
    nanos.incrementAndGet();
    String late = refused(Status.Code.FAILED_PRECONDITION, () -> check(challenges, owner, next));
    assertTrue(late.contains("the challenge has ended: it is valid for 120 s"), late);
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a challenge counts for one leader, one key, one recovery key and up to the next recovery")
  void otherPlace() {
    PublicKey other = Ed25519.generate().getPublic();
    InitialOwner recovered = owner.toBuilder().setRecoveries(1).build();
    InitialOwner renamed =
        owner.toBuilder()
            .setRecoveryPublicKey(
                ByteString.copyFrom(RecoveryKey.publicKey(RecoveryKey.generate())))
            .build();
    for (Runnable wrong :
        new Runnable[] {
          () -> check(another(), owner, next),
          () -> check(challenges, owner, other),
          () -> check(challenges, recovered, next),
          () -> check(challenges, renamed, next)
        }) {
      String why = refused(Status.Code.FAILED_PRECONDITION, wrong);
      assertTrue(why.contains("the challenge is not valid here"), why);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a proof without the answer, for another cluster or for another use is refused, and no other key opens the answer")
  void notProved() {
    byte[] answer = answer(pem, given);
    byte[] challenge = given.getChallenge().toByteArray();
    PublicKey foreign = Ed25519.generate().getPublic();
    for (byte[] wrong :
        new byte[][] {
          wanted(next).by(new byte[RecoveryProof.ANSWER_BYTES]),
          RecoveryProof.ofOwner(foreign, next, challenge).by(answer),
          RecoveryProof.ofRecoveryKey(authority, Ed25519.raw(next), challenge).by(answer)
        }) {
      String why =
          refused(Status.Code.PERMISSION_DENIED, () -> check(challenges, owner, next, wrong));
      assertTrue(why.contains("not by the recovery key of this cluster"), why);
    }
    assertThrows(PkiException.class, () -> answer(RecoveryKey.generate(), given));
    RecoveryKey.Sealed sealed =
        new RecoveryKey.Sealed(
            given.getEncapsulatedKey().toByteArray(), given.getCiphertext().toByteArray());
    assertThrows(PkiException.class, () -> RecoveryKey.open(RecoveryKey.privateKey(pem), sealed));
  }

  @Test
  @DisplayName("without a recovery key there is no challenge, and the refusal says how to name one")
  void none() {
    String why =
        refused(
            Status.Code.FAILED_PRECONDITION,
            () -> challenges.give(owner.toBuilder().clearRecoveryPublicKey().build(), raw(next)));
    assertTrue(why.contains("knows no recovery key"), why);
    assertTrue(why.contains("polisctl recovery-key name FILE"), why);
  }

  @Test
  @DisplayName("two challenges at the same moment differ by their key, and their times say nothing")
  void different() {
    PublicKey other = Ed25519.generate().getPublic();
    GetRecoveryChallengeResponse second = challenges.give(owner, raw(other));
    GetRecoveryChallengeResponse elsewhere = another().give(owner, raw(next));

    assertNotEquals(given.getChallenge(), second.getChallenge());
    assertNotEquals(
        given.getChallenge().substring(0, Long.BYTES),
        elsewhere.getChallenge().substring(0, Long.BYTES));
  }
}
