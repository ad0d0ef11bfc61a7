package dev.polis.curator.api;

import com.google.protobuf.ByteString;
import dev.polis.curator.record.Refusal;
import dev.polis.pki.Hmac;
import dev.polis.pki.PkiException;
import dev.polis.pki.RecoveryKey;
import dev.polis.pki.RecoveryProof;
import dev.polis.wire.cluster.GetRecoveryChallengeResponse;
import dev.polis.wire.curator.stored.InitialOwner;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.LongSupplier;

/**
 * Gives challenges that only the holder of the recovery key can answer, and checks the proofs. A
 * challenge is for an appointed key, the recovery key and the number of recoveries. Thread-safe.
 */
final class RecoveryChallenges {

  /** The time for an answer, which a program gives. */
  static final Duration TERM = Duration.ofMinutes(2);

  private final StatelessChallenges challenges;

  /**
   * Creates an object that accepts only the answers of its own challenges.
   *
   * @param nanoTime a monotonic clock
   */
  RecoveryChallenges(SecureRandom random, LongSupplier nanoTime) {
    this.challenges = new StatelessChallenges(random, nanoTime);
  }

  /** Makes a challenge for the appointment of a key, 32 bytes. */
  GetRecoveryChallengeResponse give(InitialOwner owner, ByteString key) {
    requireRecoveryKey(owner);
    byte[] challenge = challenges.give(purpose(owner, key));
    RecoveryKey.Sealed sealed = seal(owner.getRecoveryPublicKey(), challenges.answer(challenge));
    return GetRecoveryChallengeResponse.newBuilder()
        .setChallenge(ByteString.copyFrom(challenge))
        .setEncapsulatedKey(ByteString.copyFrom(sealed.encapsulatedKey()))
        .setCiphertext(ByteString.copyFrom(sealed.ciphertext()))
        .build();
  }

  private static byte[][] purpose(InitialOwner owner, ByteString key) {
    return new byte[][] {
      ByteBuffer.allocate(Integer.BYTES).putInt(owner.getRecoveries()).array(),
      key.toByteArray(),
      owner.getRecoveryPublicKey().toByteArray()
    };
  }

  /**
   * Seals a message to a recovery key.
   *
   * @throws dev.polis.rpc.RpcException if the key is unusable
   */
  static RecoveryKey.Sealed seal(ByteString recoveryKey, byte[] message) {
    try {
      return RecoveryKey.seal(RecoveryKey.Use.CHALLENGE, recoveryKey.toByteArray(), message);
    } catch (PkiException unusable) {
      throw Refusal.precondition(
          "the recovery key is unusable: %s; make another one", unusable.getMessage());
    }
  }

  private static void requireRecoveryKey(InitialOwner owner) {
    if (owner.getRecoveryPublicKey().isEmpty()) {
      throw Refusal.precondition(
          "the cluster knows no recovery key, so none replaces the owner's key; the owner names one"
              + " with 'polisctl recovery-key name FILE'");
    }
  }

  /** Refuses a challenge or a proof of a wrong length, before the records are read. */
  static void checkLengths(ByteString challenge, ByteString proof) {
    if (challenge.size() != StatelessChallenges.BYTES) {
      throw Refusal.invalid(
          "challenge has %d bytes; one from GetRecoveryChallenge has %d",
          challenge.size(), StatelessChallenges.BYTES);
    }
    if (proof.size() != Hmac.BYTES) {
      throw Refusal.invalid("proof has %d bytes; it needs %d", proof.size(), Hmac.BYTES);
    }
  }

  /**
   * Refuses an appointment that the present recovery key does not prove.
   *
   * @param owner the present record
   * @param key the appointed key, for which the challenge was given
   * @param expected what the proof has to say
   */
  void requireProved(
      InitialOwner owner,
      ByteString key,
      ByteString challenge,
      RecoveryProof expected,
      ByteString proof) {
    requireRecoveryKey(owner);
    if (!challenges.gave(challenge, purpose(owner, key))) {
      throw Refusal.precondition(
          "the challenge is not valid here: another node led when it was given, it was given for"
              + " another key, or the owner's or the recovery key has been replaced by the recovery"
              + " key since; repeat the command; nothing was changed");
    }
    if (challenges.isOlder(challenge, TERM)) {
      throw Refusal.precondition(
          "the challenge has ended: it is valid for %d s; repeat the command; nothing was changed",
          TERM.toSeconds());
    }
    byte[] answer = challenges.answer(challenge.toByteArray());
    boolean proved = expected.isBy(answer, proof.toByteArray());
    Arrays.fill(answer, (byte) 0);
    if (!proved) {
      throw Refusal.denied(
          "the proof is not by the recovery key of this cluster; use the recovery key that the first"
              + " node was given, or the one that has replaced it; nothing was changed");
    }
  }
}
