package dev.polis.ctl.session;

/** Reports that a command failed; the message is the line the operator reads. */
public final class CtlException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final ExitCode exitCode;

  /** Reports a failure that has no exit code of its own. */
  public CtlException(String message) {
    this(ExitCode.FAILED, message);
  }

  /** Reports a failure that has no exit code of its own. */
  public CtlException(String message, Throwable cause) {
    this(ExitCode.FAILED, message, cause);
  }

  public CtlException(ExitCode exitCode, String message) {
    this(exitCode, message, null);
  }

  public CtlException(ExitCode exitCode, String message, Throwable cause) {
    super(message, cause);
    this.exitCode = exitCode;
  }

  public ExitCode exitCode() {
    return exitCode;
  }
}
