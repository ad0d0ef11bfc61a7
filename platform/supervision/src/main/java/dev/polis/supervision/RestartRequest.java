package dev.polis.supervision;

/**
 * Asks, thrown by a task, for a new start although nothing failed, for example because its
 * configuration changed. What it started and its group stop without FATAL entries and start again
 * with it, at once or after the usual delay.
 */
public final class RestartRequest extends Exception {
  private static final long serialVersionUID = 1L;

  /**
   * @param reason why, in one line
   */
  public RestartRequest(String reason) {
    super(reason, null, false, false);
  }
}
