package dev.polis.pki;

/**
 * Reports that another writer stored the same object first. A repeated call is safe and returns the
 * winner's bytes.
 */
public final class PkiConflictException extends PkiException {
  private static final long serialVersionUID = 1L;

  /** Creates it with a message that names the object. */
  public PkiConflictException(String message) {
    super(message);
  }
}
