package dev.polis.supervision;

/** Lists the states of a runnable. */
public enum RunState {
  /** Started, not yet healthy. */
  NEW,
  /** Has signalled that it works. Subtrees without a task are always healthy. */
  HEALTHY,
  /** Has signalled that it is finished, and returned. Its children run on. */
  DONE,
  /** Failed: it threw, or returned without having signalled done. Waits for its restart. */
  DEAD,
  /** Returned because it was cancelled. Restarts when all it fell with have returned. */
  CANCELED,
  /** Was asked to stop for good and has not returned yet. */
  STOPPING
}
