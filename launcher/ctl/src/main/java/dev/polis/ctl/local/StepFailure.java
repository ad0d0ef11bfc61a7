package dev.polis.ctl.local;

/** Reports that a step failed: which one, of which node, why, and what to do. */
final class StepFailure extends Exception {
  private static final long serialVersionUID = 1L;

  private final String remedy;

  /**
   * Makes a failure.
   *
   * @param step what was done, with the node
   * @param cause what the node or the command printed
   * @param remedy what the operator does next
   */
  StepFailure(String step, String cause, String remedy) {
    super("%s: %s".formatted(step, cause));
    this.remedy = remedy;
  }

  String remedy() {
    return remedy;
  }
}
