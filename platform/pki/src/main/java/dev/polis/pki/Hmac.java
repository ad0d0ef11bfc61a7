package dev.polis.pki;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Computes HMAC-SHA256 (RFC 2104). Stateless; safe for any thread. */
public final class Hmac {
  /** The length of each result. */
  public static final int BYTES = 32;

  private static final String ALGORITHM = "HmacSHA256";

  private Hmac() {}

  /**
   * Authenticates texts, one after the other without a sign between them: the caller gives each
   * text but the last a fixed length.
   */
  public static byte[] sha256(byte[] key, byte[]... texts) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(key, ALGORITHM));
      for (byte[] text : texts) {
        mac.update(text);
      }
      return mac.doFinal();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java platform has HmacSHA256", e);
    }
  }

  /** Compares a result with a claimed one in constant time. */
  public static boolean same(byte[] computed, byte[] claimed) {
    return MessageDigest.isEqual(computed, claimed);
  }
}
