package dev.polis.logtree;

/** Ranks leveled entries, mildest first, so that {@link #compareTo} works. */
public enum Severity {
  /** Normal operation. */
  INFO('I'),
  /** Unusual, but handled. */
  WARNING('W'),
  /** An operation failed. */
  ERROR('E'),
  /** The organ cannot continue. */
  FATAL('F');

  private final char letter;

  Severity(char letter) {
    this.letter = letter;
  }

  /** Returns the letter of this severity in text forms: I, W, E or F. */
  public char letter() {
    return letter;
  }

  /** Returns whether this severity is {@code minimum} or worse. */
  public boolean atLeast(Severity minimum) {
    return compareTo(minimum) >= 0;
  }
}
