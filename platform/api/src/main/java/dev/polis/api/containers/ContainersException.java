package dev.polis.api.containers;

/** Reports a refusal or failure of the container runtime. */
public final class ContainersException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /** Creates it with a message that names the problem, the place and the remedy. */
  public ContainersException(String message) {
    super(message);
  }

  /** Creates it with a message and its cause. */
  public ContainersException(String message, Throwable cause) {
    super(message, cause);
  }
}
