package dev.polis.process;

/**
 * A child process could not be started, stopped or accounted for; the message says which, why and
 * what to do next.
 */
public final class ProcessException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** With words only. */
  public ProcessException(String message) {
    super(message);
  }

  /** With the failure underneath. */
  public ProcessException(String message, Throwable cause) {
    super(message, cause);
  }
}
