package dev.polis.pki;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.PrivateKey;
import java.security.PublicKey;

/**
 * Names the two keys of a rotation of the owner's key, which both sign it: the present key proves
 * the right to it, and the new key that its private half exists. The cluster's authority is part of
 * the signed text, so the signatures are worth nothing to another cluster of the same owner.
 *
 * @param authority the key of the cluster's authority, which stays when its certificate is renewed
 * @param present the owner's key until now
 * @param next the owner's key from now on
 */
public record OwnerRotation(PublicKey authority, PublicKey present, PublicKey next) {

  private static final byte[] DOMAIN = "polis owner rotation 1".getBytes(StandardCharsets.US_ASCII);

  private byte[] text() {
    return ByteBuffer.allocate(DOMAIN.length + 3 * Ed25519.KEY_BYTES)
        .put(DOMAIN)
        .put(Ed25519.raw(authority))
        .put(Ed25519.raw(present))
        .put(Ed25519.raw(next))
        .array();
  }

  /** Signs the rotation with the private half of one of its keys. */
  public byte[] sign(PrivateKey key) {
    return Ed25519.sign(key, text());
  }

  /** Returns whether a key has signed this rotation. */
  public boolean isSignedBy(PublicKey key, byte[] signature) {
    return Ed25519.verify(key, text(), signature);
  }
}
