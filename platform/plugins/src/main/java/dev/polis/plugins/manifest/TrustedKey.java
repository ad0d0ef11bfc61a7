package dev.polis.plugins.manifest;

import dev.polis.pki.Ed25519;
import dev.polis.pki.PkiException;
import java.security.PublicKey;

/**
 * Holds a public key whose signatures the cluster trusts.
 *
 * @param name its name for people, such as {@code release-2026}
 * @param key an Ed25519 key
 */
public record TrustedKey(String name, PublicKey key) {

  /**
   * @throws IllegalArgumentException if the name is malformed or the key is of another algorithm
   */
  public TrustedKey {
    Names.KEY.require(name);
    if (!Ed25519.is(key)) {
      throw new IllegalArgumentException(
          "the key \"" + name + "\" is " + key.getAlgorithm() + ", and plugins need Ed25519");
    }
  }

  /**
   * Makes a trusted key from its 32 raw bytes.
   *
   * @throws IllegalArgumentException if the name is malformed or the bytes are no key
   */
  public static TrustedKey of(String name, byte[] raw) {
    try {
      return new TrustedKey(name, Ed25519.publicKey(raw));
    } catch (PkiException e) {
      throw new IllegalArgumentException("the key \"" + name + "\": " + e.getMessage(), e);
    }
  }

  /** Returns the key's identifier. */
  public KeyId id() {
    return KeyId.of(key);
  }

  @Override
  public String toString() {
    return name + " (" + id() + ")";
  }
}
