package dev.polis.node;

import java.util.List;

/** The children of this process that have exited and wait to be reaped. */
interface ChildTable {
  /** Their process ids. */
  List<Long> exited();

  /**
   * Reaps one.
   *
   * @return whether it was still there to be reaped
   */
  boolean reap(long pid);
}
