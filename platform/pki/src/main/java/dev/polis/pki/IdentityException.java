package dev.polis.pki;

/**
 * A certificate does not prove the identity that was asked of it; the message names the rule that
 * it breaks.
 */
public final class IdentityException extends PkiException {
  private static final long serialVersionUID = 1L;

  /** With the broken rule in words. */
  public IdentityException(String message) {
    super(message);
  }

  /** With the failure underneath. */
  public IdentityException(String message, Throwable cause) {
    super(message, cause);
  }
}
