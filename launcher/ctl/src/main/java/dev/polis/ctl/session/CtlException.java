package dev.polis.ctl.session;

/** Reports that a command failed; the message is the line the operator reads. */
public final class CtlException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final ExitCode exitCode;

  public CtlException(ExitCode exitCode, String message) {
    super(message);
    this.exitCode = exitCode;
  }

  public CtlException(ExitCode exitCode, String message, Throwable cause) {
    super(message, cause);
    this.exitCode = exitCode;
  }

  public ExitCode exitCode() {
    return exitCode;
  }
}
