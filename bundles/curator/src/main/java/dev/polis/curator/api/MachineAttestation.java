package dev.polis.curator.api;

import com.google.protobuf.ByteString;
import dev.polis.base.digest.Sha256;
import dev.polis.curator.attest.BootEvidence;
import dev.polis.curator.attest.TpmCredential;
import dev.polis.curator.attest.TpmPublic;
import dev.polis.curator.record.Refusal;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Hmac;
import dev.polis.wire.cluster.AttestationEvidence;
import dev.polis.wire.cluster.AttestedMachine;
import dev.polis.wire.cluster.GetAttestationChallengeResponse;
import dev.polis.wire.cluster.TpmKeys;
import dev.polis.wire.curator.stored.Node;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * Gives challenges to the TPMs of machines that register, and checks their evidence.
 *
 * <pre>
 *   node key, EK, AK ──▶ nonce, and an answer that only a TPM with EK and AK reveals
 *   answer, quote over nonce and node key, event log ──▶ what the machine has booted
 * </pre>
 */
public final class MachineAttestation {

  /** The time for the commands of a slow TPM, of which the making of its keys takes most. */
  static final Duration TERM = Duration.ofMinutes(5);

  private final StatelessChallenges challenges;
  private final SecureRandom random;

  /**
   * Creates an object that accepts only the answers of its own challenges.
   *
   * @param nanoTime a monotonic clock
   */
  public MachineAttestation(SecureRandom random, LongSupplier nanoTime) {
    this.challenges = new StatelessChallenges(random, nanoTime);
    this.random = random;
  }

  /**
   * Makes a challenge.
   *
   * @param node the node key that the caller has proved
   */
  GetAttestationChallengeResponse give(PublicKey node, TpmKeys keys) {
    TpmPublic endorsement = TpmPublic.endorsement(keys.getEndorsement().toByteArray());
    TpmPublic attestation = TpmPublic.attestation(keys.getAttestation().toByteArray());
    byte[] nonce = challenges.give(purpose(node, keys));
    TpmCredential credential =
        TpmCredential.make(endorsement, attestation, challenges.answer(nonce), random);
    return GetAttestationChallengeResponse.newBuilder()
        .setNonce(ByteString.copyFrom(nonce))
        .setCredential(ByteString.copyFrom(credential.idObject()))
        .setEncryptedSecret(ByteString.copyFrom(credential.encryptedSecret()))
        .build();
  }

  private static byte[][] purpose(PublicKey node, TpmKeys keys) {
    return new byte[][] {
      Ed25519.raw(node),
      Sha256.begin().digest(keys.getEndorsement().toByteArray()),
      Sha256.begin().digest(keys.getAttestation().toByteArray())
    };
  }

  /**
   * Checks evidence, and returns what it proves.
   *
   * @param node the node key that the caller has proved
   * @throws dev.polis.rpc.RpcException if any of it is wrong; ABORTED if a newer challenge helps
   */
  AttestedMachine check(PublicKey node, AttestationEvidence evidence) {
    ByteString nonce = evidence.getNonce();
    if (nonce.size() != StatelessChallenges.BYTES) {
      throw Refusal.invalid(
          "attestation: nonce has %d bytes; one from GetAttestationChallenge has %d",
          nonce.size(), StatelessChallenges.BYTES);
    }
    if (!challenges.gave(nonce, purpose(node, evidence.getKeys()))) {
      throw Refusal.aborted(
          "attestation: this leader gave no such nonce to this node's key and these keys of a TPM:"
              + " another node led then, or it was given to another node or for another TPM; ask"
              + " for another challenge");
    }
    if (challenges.isOlder(nonce, TERM)) {
      throw Refusal.aborted(
          "attestation: the nonce has ended: it is valid for %d s; ask for another challenge",
          TERM.toSeconds());
    }
    if (!Hmac.same(challenges.answer(nonce.toByteArray()), evidence.getSecret().toByteArray())) {
      throw Refusal.denied(
          "attestation: the attestation key is not in the TPM of the endorsement key: secret is not"
              + " what that TPM reveals");
    }
    return BootEvidence.check(
        evidence,
        TpmPublic.endorsement(evidence.getKeys().getEndorsement().toByteArray()),
        TpmPublic.attestation(evidence.getKeys().getAttestation().toByteArray()),
        bound(node, nonce));
  }

  /** Returns what a quote has to be bound to. */
  static byte[] bound(PublicKey node, ByteString nonce) {
    MessageDigest digest = Sha256.begin();
    digest.update(nonce.toByteArray());
    return digest.digest(Ed25519.raw(node));
  }

  /** Refuses other evidence for a nonce that a registration has used. */
  static void requireUnused(Node before, Node candidate) {
    AttestedMachine first = before.getAttestation();
    AttestedMachine second = candidate.getAttestation();
    if (candidate.hasAttestation()
        && first.getNonce().equals(second.getNonce())
        && !first.equals(second)) {
      throw Refusal.denied(
          "attestation: node %s has used this nonce before, with other evidence", before.getId());
    }
  }
}
