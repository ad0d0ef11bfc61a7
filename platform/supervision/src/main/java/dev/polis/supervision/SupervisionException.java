package dev.polis.supervision;

/** Reports a wrong use of the tree: a signal out of order, an invalid name, a closed subtree. */
public final class SupervisionException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  /**
   * @param message the request, the reason of the refusal, and the remedy
   */
  public SupervisionException(String message) {
    super(message);
  }
}
