package dev.polis.ctl.session;

/** Lists the exit codes of polisctl. They are part of its contract: scripts test them. */
public enum ExitCode {
  /** Done as asked. */
  OK(0),
  /** The cluster or this machine refused or failed; standard error gives the reason. */
  FAILED(1),
  /** The command line itself was wrong. */
  USAGE(2),
  /** No answer from the node, or it cannot give one now. */
  UNREACHABLE(3),
  /** The requested object does not exist. */
  NOT_FOUND(4),
  /** The answer came, and it is "no": not healthy, condition not met. */
  NOT_MET(5);

  private final int code;

  ExitCode(int code) {
    this.code = code;
  }

  public int code() {
    return code;
  }
}
