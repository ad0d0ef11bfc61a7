package dev.polis.process;

import java.io.IOException;

/**
 * Describes the program of a child process to its runner. All calls come from the thread that runs
 * the child.
 */
@FunctionalInterface
public interface ChildProgram {

  /**
   * Asks once, in a second at most if it can, whether the process does its work.
   *
   * @return false for "not yet"; a refused connection is one, not an error
   * @throws IOException if that cannot be found out
   */
  boolean ready(ManagedProcess process) throws IOException, InterruptedException;

  /** Asks once whether the process answers, whatever it says. */
  default boolean answers(ManagedProcess process) throws InterruptedException {
    return true;
  }

  /** Returns the line of its log that says why it ended, or what hinders it, for people. */
  default String lastWords(ManagedProcess process) {
    return LastWords.of(process.log(), process.logStart());
  }

  /**
   * Returns what hinders the process, or has ended it, as far as its log does not say it: a clause
   * that begins with a semicolon; empty if nothing is known.
   */
  default String hint(ManagedProcess process) throws IOException, InterruptedException {
    return "";
  }

  /**
   * Publishes that the process does not answer; called again and again while that lasts.
   *
   * @param text which process, since when, and what the kernel says of it
   * @param answered whether it did before
   */
  default void silent(ManagedProcess process, String text, boolean answered) {}

  /** Takes back that the process does not answer, as it answers again. */
  default void heard() {}
}
