package dev.polis.process;

import java.time.Instant;

/** Holds whether a child process runs, or how it ended. All but {@link Running} are final. */
public sealed interface ProcessStatus {

  /** Returns it as a clause for people, such as {@code "exit code 1"}. */
  String text();

  /**
   * It runs.
   *
   * @param pid its process id, also that of its session
   * @param adopted true if it was found running rather than started
   * @param since when it started
   */
  record Running(long pid, boolean adopted, Instant since) implements ProcessStatus {
    @Override
    public String text() {
      return "running as pid " + pid;
    }
  }

  /**
   * It ended by itself.
   *
   * @param code its exit code; 128 + n if signal n killed it
   */
  record Exited(int code) implements ProcessStatus {
    // Shells and the JDK alike: 128 and the number of the signal.
    private static final int SIGNALS = 128;

    @Override
    public String text() {
      return code > SIGNALS ? "killed by signal " + (code - SIGNALS) : "exit code " + code;
    }
  }

  /** It was adopted and ended by itself; its exit code only its parent learns. */
  record Vanished() implements ProcessStatus {
    @Override
    public String text() {
      return "exit code unknown, since the process was adopted";
    }
  }

  /** It was stopped on request. */
  record Stopped() implements ProcessStatus {
    @Override
    public String text() {
      return "stopped on request";
    }
  }
}
