package dev.polis.node.exit;

/** Lists the exit codes that scripts can rely on. */
public final class Exit {
  public static final int OK = 0;
  public static final int FAILED = 1;
  public static final int USAGE = 2;
  public static final int REFUSED = 3;
  public static final int RUNNING = 4;

  /** A shell reports this for a process that SIGINT ended. */
  public static final int FORCED = 130;

  private Exit() {}
}
