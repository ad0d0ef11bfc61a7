package dev.polis.logtree;

/** How bad a leveled entry is, mildest first, so that {@link #compareTo} ranks. */
public enum Severity {
  /** Normal operation. */
  INFO('I'),
  /** Unusual, but handled. */
  WARNING('W'),
  /** An operation failed. */
  ERROR('E'),
  /** The organ that logs this cannot continue. */
  FATAL('F');

  private final char letter;

  Severity(char letter) {
    this.letter = letter;
  }

  /** Returns the one letter that stands for this severity in text forms: I, W, E or F. */
  public char letter() {
    return letter;
  }

  /** Returns whether this severity is {@code minimum} or worse. */
  public boolean atLeast(Severity minimum) {
    return compareTo(minimum) >= 0;
  }
}
