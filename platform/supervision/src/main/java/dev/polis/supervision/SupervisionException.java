package dev.polis.supervision;

/** Reports a wrong use of the tree: a signal out of order, an impossible name, a closed subtree. */
public final class SupervisionException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  /**
   * @param message what was asked of whom, why that cannot be, and what to do instead
   */
  public SupervisionException(String message) {
    super(message);
  }
}
