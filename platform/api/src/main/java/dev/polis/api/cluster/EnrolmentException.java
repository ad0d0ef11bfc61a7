package dev.polis.api.cluster;

/**
 * Reports that the node could not become a member; the message names the failed step and its root
 * cause.
 */
public final class EnrolmentException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public EnrolmentException(String message) {
    super(message);
  }

  public EnrolmentException(String message, Throwable cause) {
    super(message, cause);
  }
}
