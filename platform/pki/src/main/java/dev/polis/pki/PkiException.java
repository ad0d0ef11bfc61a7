package dev.polis.pki;

/**
 * Reports an unusable key, certificate, revocation list or stored object. The message names the
 * value, the problem and the remedy.
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
