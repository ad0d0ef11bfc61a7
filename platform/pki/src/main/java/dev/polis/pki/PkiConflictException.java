package dev.polis.pki;

/**
 * Somebody else wrote the same object first. Reading again and repeating the call is safe and
 * returns the winner's bytes.
 */
public final class PkiConflictException extends PkiException {
  private static final long serialVersionUID = 1L;

  /** With words that name the object. */
  public PkiConflictException(String message) {
    super(message);
  }
}
