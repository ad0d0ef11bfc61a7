package dev.polis.process;

import java.io.IOException;

/** Describes the program of a child process to {@link Child}, which calls it on one thread. */
@FunctionalInterface
public interface ChildProgram {

  /**
   * Checks once, within a second if possible, whether the process does its work.
   *
   * @return false for "not yet", which includes a refused connection
   * @throws IOException if the check fails
   */
  boolean ready(ManagedProcess process) throws IOException, InterruptedException;

  /** Checks once whether the process answers, whatever the answer. */
  default boolean answers(ManagedProcess process) throws InterruptedException {
    return true;
  }

  /**
   * Returns the line of the log that explains the end or the problem of the process, for people.
   */
  default String lastWords(ManagedProcess process) {
    return LastWords.of(process.log(), process.logStart());
  }

  /**
   * Returns a known obstacle or cause of the end that the log lacks, as a clause that begins with a
   * semicolon; empty if none is known.
   */
  default String hint(ManagedProcess process) throws IOException, InterruptedException {
    return "";
  }

  /**
   * Publishes that the process does not answer; called again while this lasts.
   *
   * @param text the process, the time of its silence, and its state in the kernel
   * @param answered whether it has ever answered
   */
  default void silent(ManagedProcess process, String text, boolean answered) {}

  /** Withdraws the report of silence because the process answers again. */
  default void heard() {}
}
