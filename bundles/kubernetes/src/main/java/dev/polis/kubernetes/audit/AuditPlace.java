package dev.polis.kubernetes.audit;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Names a place between two records of the log.
 *
 * @param inode the inode of the file; 0 for the place before the oldest record
 * @param offset the offset in bytes
 */
record AuditPlace(long inode, long offset) {

  /** The place before the oldest kept record. */
  static final AuditPlace OLDEST = new AuditPlace(0, 0);

  private static final Pattern TEXT = Pattern.compile("(\\d{1,18}):(\\d{1,18})");

  /**
   * Reads a place from the text of {@link #toString}; an empty text is the place before the oldest
   * record.
   *
   * @throws IllegalArgumentException for any other text, with the text
   */
  static AuditPlace parse(String text) {
    if (text.isEmpty()) {
      return OLDEST;
    }
    Matcher matcher = TEXT.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "\"%s\" is not a place in the log; give one from an earlier answer".formatted(text));
    }
    return new AuditPlace(Long.parseLong(matcher.group(1)), Long.parseLong(matcher.group(2)));
  }

  @Override
  public String toString() {
    return inode + ":" + offset;
  }
}
