package dev.polis.plugins.swap;

/** Reports that the node must revert a swap; the message names the reason. */
final class SwapFailedException extends Exception {
  private static final long serialVersionUID = 1;

  /** True if the generation itself has the fault, so that another attempt would fail too. */
  private final boolean generationAtFault;

  private SwapFailedException(String message, Throwable cause, boolean generationAtFault) {
    super(message, cause);
    this.generationAtFault = generationAtFault;
  }

  /** Reports that the node does not work with the ordered generation, with a cause. */
  static SwapFailedException notWell(String message, Throwable cause) {
    return new SwapFailedException(message, cause, true);
  }

  /** Reports that the node does not work with the ordered generation. */
  static SwapFailedException notWell(String message) {
    return new SwapFailedException(message, null, true);
  }

  /** Reports another failure, such as one of the disk. */
  static SwapFailedException elsewhere(String message, Throwable cause) {
    return new SwapFailedException(message, cause, false);
  }

  boolean isGenerationAtFault() {
    return generationAtFault;
  }
}
