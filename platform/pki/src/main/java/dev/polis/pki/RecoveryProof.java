package dev.polis.pki;

import java.nio.charset.StandardCharsets;
import java.security.PublicKey;

/**
 * Proves that the holder of a cluster's recovery key appoints another key. The holder opens the
 * answer of a challenge, which was sealed to the recovery key, and authenticates with it the
 * cluster, the other key and the challenge: so the proof is worth nothing to another cluster, for
 * another key, or for another challenge.
 */
public final class RecoveryProof {
  /** The length of the answer of a challenge. */
  public static final int ANSWER_BYTES = 32;

  private static final byte[] OWNER = "polis owner recovery 1".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] RECOVERY = "polis recovery key 1".getBytes(StandardCharsets.US_ASCII);

  private final byte[] domain;
  private final byte[] authority;
  private final byte[] key;
  private final byte[] challenge;

  private RecoveryProof(byte[] domain, PublicKey authority, byte[] key, byte[] challenge) {
    this.domain = domain;
    this.authority = Ed25519.raw(authority);
    this.key = key.clone();
    this.challenge = challenge.clone();
  }

  /**
   * Appoints another owner's key.
   *
   * @param authority the key of the cluster's authority, which stays when its certificate is
   *     renewed
   */
  public static RecoveryProof ofOwner(PublicKey authority, PublicKey next, byte[] challenge) {
    return new RecoveryProof(OWNER, authority, Ed25519.raw(next), challenge);
  }

  /**
   * Appoints another recovery key.
   *
   * @param authority the key of the cluster's authority
   * @param next the raw X25519 public key
   */
  public static RecoveryProof ofRecoveryKey(PublicKey authority, byte[] next, byte[] challenge) {
    return new RecoveryProof(RECOVERY, authority, next, challenge);
  }

  /** Makes the proof with the answer of the challenge. */
  public byte[] by(byte[] answer) {
    return Hmac.sha256(answer, domain, authority, key, challenge);
  }

  /** Returns whether the answer of the challenge has made a proof. */
  public boolean isBy(byte[] answer, byte[] proof) {
    return Hmac.same(by(answer), proof);
  }
}
