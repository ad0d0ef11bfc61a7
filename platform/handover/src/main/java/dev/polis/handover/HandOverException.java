package dev.polis.handover;

/** Reports why one instance of an organ could not continue from the state of another. */
public final class HandOverException extends RuntimeException {

  private static final long serialVersionUID = 1;

  /** Creates it with what happened and what next. */
  public HandOverException(String message) {
    super(message);
  }

  /** Creates it with what happened, what next, and why. */
  public HandOverException(String message, Throwable cause) {
    super(message, cause);
  }
}
