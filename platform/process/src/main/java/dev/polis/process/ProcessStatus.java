package dev.polis.process;

import java.time.Instant;

/**
 * Describes whether a child process runs, or how it ended. All states except {@link Running} are
 * final.
 */
public sealed interface ProcessStatus {

  /** Returns the status as a clause for people, such as {@code "exit code 1"}. */
  String text();

  /**
   * Means that the process runs.
   *
   * @param pid its process id, also that of its session
   * @param adopted true if it was adopted rather than started
   * @param since the time of its start
   */
  record Running(long pid, boolean adopted, Instant since) implements ProcessStatus {
    @Override
    public String text() {
      return "running as pid " + pid;
    }
  }

  /**
   * Means that the process ended by itself.
   *
   * @param code its exit code; 128 + n if signal n killed it
   */
  record Exited(int code) implements ProcessStatus {
    // Shells and the JDK add 128 to the number of the signal.
    private static final int SIGNALS = 128;

    private static final int KILL = 9;

    /** Returns whether SIGKILL ended the process. */
    boolean killed() {
      return code == SIGNALS + KILL;
    }

    @Override
    public String text() {
      return code > SIGNALS ? "killed by signal " + (code - SIGNALS) : "exit code " + code;
    }
  }

  /** Means that an adopted process ended by itself; only its parent gets its exit code. */
  record Vanished() implements ProcessStatus {
    @Override
    public String text() {
      return "exit code unknown, since the process was adopted";
    }
  }

  /** Means that the process was stopped on request. */
  record Stopped() implements ProcessStatus {
    @Override
    public String text() {
      return "stopped on request";
    }
  }
}
