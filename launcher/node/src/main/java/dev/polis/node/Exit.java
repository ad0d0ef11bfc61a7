package dev.polis.node;

/** Lists the exit codes that scripts can rely on. */
final class Exit {
  static final int OK = 0;
  static final int FAILED = 1;
  static final int USAGE = 2;
  static final int REFUSED = 3;
  static final int RUNNING = 4;

  /** A shell reports this for a process that SIGINT ended. */
  static final int FORCED = 130;

  private Exit() {}
}
