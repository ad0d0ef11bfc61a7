package dev.polis.pki;

/**
 * Reports a key, certificate, revocation list or stored object that cannot be used. The message
 * names the offending value, says why it was refused and what to do next.
 */
public class PkiException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Creates it without a cause. */
  public PkiException(String message) {
    super(message);
  }

  /** Creates it with a cause. */
  public PkiException(String message, Throwable cause) {
    super(message, cause);
  }
}
