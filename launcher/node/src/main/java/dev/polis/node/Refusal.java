package dev.polis.node;

/**
 * Reports that the launcher refuses a command: what is wrong, with the offending value, and what to
 * do next.
 */
final class Refusal extends Exception {
  private static final long serialVersionUID = 1;

  private final int exitCode;

  Refusal(String message) {
    this(Exit.REFUSED, message, null);
  }

  Refusal(String message, Throwable cause) {
    this(Exit.REFUSED, message, cause);
  }

  Refusal(int exitCode, String message, Throwable cause) {
    super(message, cause);
    this.exitCode = exitCode;
  }

  int exitCode() {
    return exitCode;
  }
}
