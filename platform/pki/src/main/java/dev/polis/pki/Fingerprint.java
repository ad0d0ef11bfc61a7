package dev.polis.pki;

import dev.polis.base.digest.Sha256;
import java.security.cert.X509Certificate;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Names a certificate by the SHA-256 of its DER form. This is the number that OpenSSL, browsers and
 * the tools of the reference system show, so that people can compare the output of two programs.
 *
 * @param hex 64 hexadecimal digits in lower case
 */
public record Fingerprint(String hex) {
  private static final Pattern DIGITS = Pattern.compile("[0-9a-f]{64}");

  /** Refuses a text that is not 64 hexadecimal digits in lower case. */
  public Fingerprint {
    if (!DIGITS.matcher(hex).matches()) {
      throw new PkiException(
          "\"" + hex + "\" is no fingerprint; a SHA-256 has 64 hexadecimal digits");
    }
  }

  /** Returns the fingerprint of a certificate. */
  public static Fingerprint of(X509Certificate certificate) {
    return new Fingerprint(Sha256.hex(Pem.der(certificate)));
  }

  /**
   * Reads a fingerprint from a person: in either case, with or without OpenSSL's colons between the
   * bytes.
   *
   * @throws PkiException if the text is no fingerprint
   */
  public static Fingerprint parse(String text) {
    return new Fingerprint(text.strip().replace(":", "").toLowerCase(Locale.ROOT));
  }

  @Override
  public String toString() {
    return hex;
  }
}
