package dev.polis.pki;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.cert.X509Certificate;
import java.util.HexFormat;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Names a certificate by the SHA-256 of its DER form. This is the number that OpenSSL, browsers and
 * the tools of the reference system show, so that people can compare what two programs say.
 *
 * @param hex 64 hexadecimal digits in lower case
 */
public record Fingerprint(String hex) {
  private static final Pattern DIGITS = Pattern.compile("[0-9a-f]{64}");

  /** Refuses what is not 64 hexadecimal digits in lower case. */
  public Fingerprint {
    if (!DIGITS.matcher(hex).matches()) {
      throw new PkiException(
          "\"" + hex + "\" is no fingerprint; a SHA-256 has 64 hexadecimal digits");
    }
  }

  /** Returns the fingerprint of a certificate. */
  public static Fingerprint of(X509Certificate certificate) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(Pem.der(certificate));
      return new Fingerprint(HexFormat.of().formatHex(digest));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java runtime has SHA-256", e);
    }
  }

  /**
   * Reads a fingerprint as a person gives it: in either case, with colons between the bytes as
   * OpenSSL prints it, or without.
   *
   * @throws PkiException if it is none
   */
  public static Fingerprint parse(String text) {
    return new Fingerprint(text.strip().replace(":", "").toLowerCase(Locale.ROOT));
  }

  @Override
  public String toString() {
    return hex;
  }
}
