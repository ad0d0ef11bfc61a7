package dev.polis.plugins.swap;

/** Reports that the node must revert a swap; the message names the reason. */
final class SwapFailedException extends Exception {
  private static final long serialVersionUID = 1;

  /** Whether the fault is the generation's, so that another try would end the same way. */
  private final boolean generationAtFault;

  private SwapFailedException(String message, Throwable cause, boolean generationAtFault) {
    super(message, cause);
    this.generationAtFault = generationAtFault;
  }

  /** The node is not well with what was ordered. */
  static SwapFailedException notWell(String message, Throwable cause) {
    return new SwapFailedException(message, cause, true);
  }

  /** The node is not well with what was ordered. */
  static SwapFailedException notWell(String message) {
    return new SwapFailedException(message, null, true);
  }

  /** Something else failed, such as the disk. */
  static SwapFailedException elsewhere(String message, Throwable cause) {
    return new SwapFailedException(message, cause, false);
  }

  boolean isGenerationAtFault() {
    return generationAtFault;
  }
}
