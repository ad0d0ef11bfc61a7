package dev.polis.process;

/** Checks whether a child process is ready. */
@FunctionalInterface
public interface ReadyProbe {
  /**
   * Checks once, within a second.
   *
   * @return false for "not yet", which includes a refused connection
   * @throws InterruptedException if interrupted during the check
   */
  boolean ready() throws InterruptedException;

  /** Returns a probe for which each running process is ready. */
  static ReadyProbe running() {
    return () -> true;
  }
}
