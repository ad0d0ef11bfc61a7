package dev.polis.process;

/** Asks a child process whether it is ready. */
@FunctionalInterface
public interface ReadyProbe {
  /**
   * Asks once, in a second at most.
   *
   * @return false for "not yet"; a refused connection is one, not an error
   * @throws InterruptedException if interrupted while asking
   */
  boolean ready() throws InterruptedException;

  /** Returns a probe that calls a process ready as soon as it runs. */
  static ReadyProbe running() {
    return () -> true;
  }
}
