package dev.polis.ctl;

/** Reports that a command failed; the message is the line the operator reads. */
final class CtlException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final ExitCode exitCode;

  CtlException(ExitCode exitCode, String message) {
    super(message);
    this.exitCode = exitCode;
  }

  CtlException(ExitCode exitCode, String message, Throwable cause) {
    super(message, cause);
    this.exitCode = exitCode;
  }

  ExitCode exitCode() {
    return exitCode;
  }
}
