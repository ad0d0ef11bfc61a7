package dev.polis.supervision;

/** Lists the states of a runnable. */
public enum RunState {
  /** The runnable has started and is not healthy yet. */
  NEW,
  /** The runnable has signalled that it works; a subtree without a task is always healthy. */
  HEALTHY,
  /** The runnable has signalled its end, and returned; its children continue. */
  DONE,
  /**
   * The runnable has failed: it threw, or returned without a done signal. It waits for its restart.
   */
  DEAD,
  /**
   * The runnable returned because it was cancelled. It restarts when its whole group has returned.
   */
  CANCELED,
  /** The runnable was stopped for good and has not returned yet. */
  STOPPING
}
