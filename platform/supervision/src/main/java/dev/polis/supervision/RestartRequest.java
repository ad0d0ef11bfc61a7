package dev.polis.supervision;

/**
 * Requests, as an exception of a task, a restart without a failure, for example because its
 * configuration changed. Its children and its group stop without FATAL entries and start again with
 * it, at once or after the usual delay.
 */
public final class RestartRequest extends Exception {
  private static final long serialVersionUID = 1L;

  /**
   * @param reason the reason in one line
   */
  public RestartRequest(String reason) {
    super(reason, null, false, false);
  }
}
