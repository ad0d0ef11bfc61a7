package dev.polis.api.containers;

/** Reports what the container runtime refused or could not do. */
public final class ContainersException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /** Makes it with a message that names the problem, the place and the remedy. */
  public ContainersException(String message) {
    super(message);
  }

  /** Makes it with a message and what caused it. */
  public ContainersException(String message, Throwable cause) {
    super(message, cause);
  }
}
