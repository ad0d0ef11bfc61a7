package dev.polis.process;

/** Tells whether a child works, by asking it. */
@FunctionalInterface
public interface ReadyProbe {
  /**
   * Asks once, in a second at most.
   *
   * @return false for "not yet"; a refused connection is one, not an error
   * @throws InterruptedException if interrupted while asking
   */
  boolean ready() throws InterruptedException;

  /** Ready as soon as it runs. */
  static ReadyProbe running() {
    return () -> true;
  }
}
