package dev.polis.rpc.audit;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Names one record of a chain.
 *
 * @param sequence its number
 * @param hash its SHA-256, hexadecimal
 */
public record AuditMark(long sequence, String hash) {
  /** Stands before the first record. */
  public static final AuditMark ORIGIN = new AuditMark(0, "0".repeat(64));

  private static final Pattern FORM = Pattern.compile("([0-9]{1,18}):([0-9a-f]{64})");

  /**
   * Reads a mark from its text.
   *
   * @throws IllegalArgumentException if it is none
   */
  public static AuditMark parse(String text) {
    Matcher form = FORM.matcher(text);
    if (!form.matches()) {
      throw new IllegalArgumentException(
          "\"%s\" names no record: write its number, a colon and its hash of 64 hexadecimal digits, as 'polisctl audit verify' prints them"
              .formatted(text));
    }
    return new AuditMark(Long.parseLong(form.group(1)), form.group(2));
  }

  @Override
  public String toString() {
    return sequence + ":" + hash;
  }
}
