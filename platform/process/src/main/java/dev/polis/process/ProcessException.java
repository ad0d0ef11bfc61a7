package dev.polis.process;

/**
 * Reports that the node could not start, stop or find a child process; the message names the
 * process, the problem and the remedy.
 */
public final class ProcessException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Creates it without a cause. */
  public ProcessException(String message) {
    super(message);
  }

  /** Creates it with its cause. */
  public ProcessException(String message, Throwable cause) {
    super(message, cause);
  }
}
