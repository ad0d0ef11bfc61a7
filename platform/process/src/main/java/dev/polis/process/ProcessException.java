package dev.polis.process;

/**
 * Reports that a child process could not be started, stopped or found; the message says which, why
 * and what to do next.
 */
public final class ProcessException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Makes one without a cause. */
  public ProcessException(String message) {
    super(message);
  }

  /** Makes one with its cause. */
  public ProcessException(String message, Throwable cause) {
    super(message, cause);
  }
}
