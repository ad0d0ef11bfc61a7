package dev.polis.api.curator;

/**
 * Reports a refusal or failure of the curator; the message names the problem, the place and the
 * remedy.
 */
public final class CuratorException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public CuratorException(String message) {
    super(message);
  }

  public CuratorException(String message, Throwable cause) {
    super(message, cause);
  }
}
