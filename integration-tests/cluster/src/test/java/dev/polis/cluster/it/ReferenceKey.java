package dev.polis.cluster.it;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.util.Arrays;
import java.util.Base64;

/**
 * An Ed25519 key pair as a client of the reference system keeps it. It uses nothing of this
 * project.
 *
 * @param pair the keys, as Java has them
 */
record ReferenceKey(KeyPair pair) {

  /** Bytes of a seed, and of a public key; Java's encodings of both end with them. */
  private static final int RAW = 32;

  private static final int LINE = 64;

  static ReferenceKey generate() {
    try {
      return new ReferenceKey(KeyPairGenerator.getInstance("Ed25519").generateKeyPair());
    } catch (GeneralSecurityException impossible) {
      throw new AssertionError("the JDK has no Ed25519", impossible);
    }
  }

  PrivateKey secret() {
    return pair.getPrivate();
  }

  PublicKey open() {
    return pair.getPublic();
  }

  /** The public key as the messages carry it. */
  byte[] raw() {
    return last(open().getEncoded());
  }

  private static byte[] last(byte[] encoded) {
    return Arrays.copyOfRange(encoded, encoded.length - RAW, encoded.length);
  }

  /** The form in which the reference's own command line keeps the key: seed and public key. */
  String pem() {
    byte[] both = Arrays.copyOf(last(secret().getEncoded()), 2 * RAW);
    System.arraycopy(raw(), 0, both, RAW, RAW);
    return pem("METROPOLIS INITIAL OWNER PRIVATE KEY", both);
  }

  /** The form in which most tools keep keys. */
  String pkcs8() {
    return pem("PRIVATE KEY", secret().getEncoded());
  }

  static String pem(String label, byte[] content) {
    return "-----BEGIN %s-----\n%s\n-----END %s-----\n"
        .formatted(
            label,
            Base64.getMimeEncoder(LINE, "\n".getBytes(StandardCharsets.US_ASCII))
                .encodeToString(content),
            label);
  }
}
