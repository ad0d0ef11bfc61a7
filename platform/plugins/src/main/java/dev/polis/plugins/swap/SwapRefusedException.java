package dev.polis.plugins.swap;

/** Reports that the node refuses an order; the message names the reason and the remedy. */
public final class SwapRefusedException extends Exception {
  private static final long serialVersionUID = 1;

  /**
   * Refuses an order.
   *
   * @param message the reason and the remedy
   */
  public SwapRefusedException(String message) {
    super(message);
  }

  /**
   * Refuses an order because of a failure.
   *
   * @param message the reason and the remedy
   * @param cause the failure
   */
  public SwapRefusedException(String message, Throwable cause) {
    super(message, cause);
  }
}
