package dev.polis.plugins.swap;

import java.util.Optional;

/**
 * Lets other threads cancel a swap. It interrupts the swap's thread only while the thread waits:
 * during work in the framework or on the disk an interrupt would leave half a change.
 */
final class SwapCancel {
  private final Thread swap;
  private boolean possible = true;
  private boolean waiting;

  /** The canceller; null before a cancellation. */
  private String who;

  SwapCancel(Thread swap) {
    this.swap = swap;
  }

  /** Is a waiting part of a swap. */
  @FunctionalInterface
  interface Part<T> {
    T run() throws SwapFailedException, InterruptedException;
  }

  /** Cancels the swap; returns false if it is too late. */
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
   * Runs a waiting part; the swap's thread calls it.
   *
   * @throws InterruptedException if the swap was cancelled before or meanwhile
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
   * Ends a cancelled swap here; the swap's thread calls it.
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
   * Prevents a cancellation from now on; the swap's thread calls it.
   *
   * @throws InterruptedException if it was cancelled already
   */
  synchronized void tooLate() throws InterruptedException {
    check();
    possible = false;
  }

  /**
   * Prevents a cancellation and clears the interrupt; the swap's thread calls it before it reverts.
   */
  synchronized void settle() {
    possible = false;
    Thread.interrupted();
  }

  /** Returns the canceller. */
  synchronized Optional<String> who() {
    return Optional.ofNullable(who);
  }
}
