package dev.polis.pki;

/**
 * A key, certificate, revocation list or stored object that cannot be used. The message names the
 * offending value, says why it was refused and what to do next.
 */
public class PkiException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** With words only. */
  public PkiException(String message) {
    super(message);
  }

  /** With the failure underneath. */
  public PkiException(String message, Throwable cause) {
    super(message, cause);
  }
}
