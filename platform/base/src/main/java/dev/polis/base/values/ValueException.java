package dev.polis.base.values;

/**
 * Reports that the newest state of a value is unreadable, for example because its bytes do not
 * decode.
 *
 * <p>It concerns that one state: a watcher that threw it waits for the next one.
 */
public final class ValueException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * @param message the place of the state, its fault and the remedy
   * @param cause the reason why it is unreadable
   */
  public ValueException(String message, Throwable cause) {
    super(message, cause);
  }
}
