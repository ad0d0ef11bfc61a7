package dev.polis.cluster.it;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Holds an Ed25519 key pair as a client of the reference system keeps it, without code of this
 * project.
 *
 * @param pair the keys in Java's form
 */
record ReferenceKey(KeyPair pair) {

  /** The size of a seed, and of a public key; Java's encodings of both end with these bytes. */
  private static final int RAW = 32;

  private static final int LINE = 64;

  /** The bytes before the raw key in Java's encodings, RFC 8410. */
  private static final String OPEN = "302a300506032b6570032100";

  private static final String SECRET = "302e020100300506032b657004220420";

  private static final Pattern PEM =
      Pattern.compile(
          "-----BEGIN METROPOLIS INITIAL OWNER PRIVATE KEY-----\n([^-]+)"
              + "-----END METROPOLIS INITIAL OWNER PRIVATE KEY-----\n");

  static ReferenceKey generate() {
    try {
      return new ReferenceKey(KeyPairGenerator.getInstance("Ed25519").generateKeyPair());
    } catch (GeneralSecurityException impossible) {
      throw new AssertionError("the JDK has no Ed25519", impossible);
    }
  }

  /** Reads only the form in which the reference's own command line keeps the key. */
  static ReferenceKey read(String pem) throws GeneralSecurityException {
    Matcher matcher = PEM.matcher(pem);
    if (!matcher.matches()) {
      throw new AssertionError("the reference's command line reads no such key");
    }
    byte[] both = Base64.getMimeDecoder().decode(matcher.group(1).strip());
    if (both.length != 2 * RAW) {
      throw new AssertionError("the reference's command line reads no key of " + both.length);
    }
    KeyFactory keys = KeyFactory.getInstance("Ed25519");
    return new ReferenceKey(
        new KeyPair(
            keys.generatePublic(new X509EncodedKeySpec(encoded(OPEN, both, RAW))),
            keys.generatePrivate(new PKCS8EncodedKeySpec(encoded(SECRET, both, 0)))));
  }

  private static byte[] encoded(String prefix, byte[] both, int from) {
    return HexFormat.of().parseHex(prefix + HexFormat.of().formatHex(both, from, from + RAW));
  }

  PrivateKey secret() {
    return pair.getPrivate();
  }

  PublicKey open() {
    return pair.getPublic();
  }

  /** Returns the public key as the messages carry it. */
  byte[] raw() {
    return last(open().getEncoded());
  }

  private static byte[] last(byte[] encoded) {
    return Arrays.copyOfRange(encoded, encoded.length - RAW, encoded.length);
  }

  /**
   * Returns the form in which the reference's own command line keeps the key: seed and public key.
   */
  String pem() {
    byte[] both = Arrays.copyOf(last(secret().getEncoded()), 2 * RAW);
    System.arraycopy(raw(), 0, both, RAW, RAW);
    return pem("METROPOLIS INITIAL OWNER PRIVATE KEY", both);
  }

  /** Returns the form in which most tools keep keys. */
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
