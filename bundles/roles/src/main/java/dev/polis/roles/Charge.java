package dev.polis.roles;

import java.util.concurrent.locks.ReentrantLock;

/**
 * Decides whether this instance of the organ acts, or has passed the task to another one.
 * Thread-safe.
 */
final class Charge {

  private final ReentrantLock lock = new ReentrantLock();
  private boolean held = true; // guarded by lock

  /** Runs a step unless another instance acts; the step delays a hand-over. */
  void whileHeld(Runnable step) {
    lock.lock();
    try {
      if (held) {
        step.run();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Waits for the running step, and runs no further one. */
  void give() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      held = false;
    } finally {
      lock.unlock();
    }
  }

  /** Resumes the steps. */
  void resume() {
    lock.lock();
    try {
      held = true;
    } finally {
      lock.unlock();
    }
  }
}
