package dev.polis.process;

import java.time.Instant;

/** What is known of a child process. All but {@link Running} are final. */
public sealed interface ProcessStatus {

  /**
   * It runs.
   *
   * @param pid its process id, also that of its session
   * @param adopted true if it was found running rather than started
   * @param since when it started
   */
  record Running(long pid, boolean adopted, Instant since) implements ProcessStatus {}

  /**
   * It ended by itself.
   *
   * @param code its exit code; 128 + n if signal n killed it
   */
  record Exited(int code) implements ProcessStatus {}

  /** It ended by itself, with what code only its parent knows: it was an adopted one. */
  record Vanished() implements ProcessStatus {}

  /** It was stopped because somebody asked for it. */
  record Stopped() implements ProcessStatus {}
}
