package dev.polis.node.exit;

/**
 * Reports that the launcher refuses a command: what is wrong, with the offending value, and what to
 * do next.
 */
public final class Refusal extends Exception {
  private static final long serialVersionUID = 1;

  private final int exitCode;

  public Refusal(String message) {
    this(Exit.REFUSED, message, null);
  }

  public Refusal(String message, Throwable cause) {
    this(Exit.REFUSED, message, cause);
  }

  public Refusal(int exitCode, String message, Throwable cause) {
    super(message, cause);
    this.exitCode = exitCode;
  }

  public int exitCode() {
    return exitCode;
  }
}
