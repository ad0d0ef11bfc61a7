package dev.polis.pki;

/**
 * Reports that a certificate does not prove an identity; the message names the rule that it breaks.
 */
public final class IdentityException extends PkiException {
  private static final long serialVersionUID = 1L;

  /** Creates it with the rule that is broken. */
  public IdentityException(String message) {
    super(message);
  }

  /** Creates it with the rule that is broken and the cause. */
  public IdentityException(String message, Throwable cause) {
    super(message, cause);
  }
}
