package dev.polis.node;

/**
 * The launcher does not do what it was asked for: what is wrong, with the offending value, and what
 * to do next.
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
