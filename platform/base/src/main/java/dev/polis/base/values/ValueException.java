package dev.polis.base.values;

/**
 * Reports that the newest state of a value cannot be understood, for example because its bytes do
 * not decode.
 *
 * <p>It concerns that one state: a watcher that threw it waits for the next one.
 */
public final class ValueException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * @param message where the state lives, what is wrong with it, and what would help
   * @param cause why it was not understood
   */
  public ValueException(String message, Throwable cause) {
    super(message, cause);
  }
}
