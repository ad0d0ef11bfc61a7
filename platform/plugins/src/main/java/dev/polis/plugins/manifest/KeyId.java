package dev.polis.plugins.manifest;

import dev.polis.pki.Ed25519;
import dev.polis.plugins.store.Digest;
import java.security.PublicKey;
import java.util.regex.Pattern;

/**
 * Identifies a public key: the first half of the SHA-256 of its raw bytes. With 128 bits, no
 * attacker can make a second key with the same identifier.
 *
 * @param hex 32 hexadecimal digits in lower case
 */
public record KeyId(String hex) {
  private static final int DIGITS = 32;
  private static final Pattern FORM = Pattern.compile("[0-9a-f]{" + DIGITS + "}");

  /**
   * @throws IllegalArgumentException if {@code hex} is not 32 hexadecimal digits in lower case
   */
  public KeyId {
    if (!FORM.matcher(hex).matches()) {
      throw new IllegalArgumentException(
          "\"" + Names.shown(hex) + "\" is no key id: " + DIGITS + " digits of 0-9a-f are");
    }
  }

  /** Returns the identifier of an Ed25519 key. */
  public static KeyId of(PublicKey key) {
    return new KeyId(Digest.of(Ed25519.raw(key)).hex().substring(0, DIGITS));
  }

  @Override
  public String toString() {
    return hex;
  }
}
