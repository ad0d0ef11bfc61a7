package dev.polis.pki;

/** Reports that a certificate proves no identity; the message names the broken rule. */
public final class IdentityException extends PkiException {
  private static final long serialVersionUID = 1L;

  /** Creates it with the broken rule. */
  public IdentityException(String message) {
    super(message);
  }

  /** Creates it with the broken rule and the cause. */
  public IdentityException(String message, Throwable cause) {
    super(message, cause);
  }
}
