package dev.polis.plugins.swap;

import java.util.Optional;

/**
 * Lets others end a swap. The swap's thread is interrupted only while it waits: the framework and
 * the disk are left alone, since an interrupt would leave half a change in them.
 */
final class SwapCancel {
  private final Thread swap;
  private boolean possible = true;
  private boolean waiting;

  /** Who cancelled; null while the swap is not cancelled. */
  private String who;

  SwapCancel(Thread swap) {
    this.swap = swap;
  }

  /** A part of a swap that waits. */
  @FunctionalInterface
  interface Part<T> {
    T run() throws SwapFailedException, InterruptedException;
  }

  /** Ends the swap; returns false if it cannot be ended any more. */
  synchronized boolean cancel(String by) {
    if (!possible) {
      return false;
    }
    possible = false;
    who = by;
    if (waiting) {
      swap.interrupt();
    }
    return true;
  }

  /**
   * Runs a part that waits. Called by the swap's thread.
   *
   * @throws InterruptedException if the swap was cancelled before it or meanwhile
   */
  <T> T during(Part<T> part) throws SwapFailedException, InterruptedException {
    synchronized (this) {
      check();
      waiting = true;
    }
    try {
      return part.run();
    } finally {
      synchronized (this) {
        waiting = false;
        check();
      }
    }
  }

  /**
   * Ends the swap here if it was cancelled. Called by the swap's thread.
   *
   * @throws InterruptedException if it was cancelled
   */
  synchronized void check() throws InterruptedException {
    if (who != null) {
      Thread.interrupted();
      throw new InterruptedException("cancelled by " + who);
    }
  }

  /**
   * Makes the swap impossible to cancel from now on. Called by the swap's thread.
   *
   * @throws InterruptedException if it was cancelled already
   */
  synchronized void tooLate() throws InterruptedException {
    check();
    possible = false;
  }

  /**
   * Makes the swap impossible to cancel, and forgets an interrupt. Called by the swap's thread
   * before it reverts.
   */
  synchronized void settle() {
    possible = false;
    Thread.interrupted();
  }

  /** Returns who cancelled. */
  synchronized Optional<String> who() {
    return Optional.ofNullable(who);
  }
}
