package dev.polis.roles;

import java.util.concurrent.locks.ReentrantLock;

/** Says whether this instance of the organ decides, or has given that to another. Thread-safe. */
final class Charge {

  private final ReentrantLock lock = new ReentrantLock();
  private boolean held = true; // guarded by lock

  /** Does a step unless another instance decides; it does not while the step lasts. */
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

  /** Waits for a step that is under way, and does no more of them. */
  void give() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      held = false;
    } finally {
      lock.unlock();
    }
  }

  /** Decides again. */
  void resume() {
    lock.lock();
    try {
      held = true;
    } finally {
      lock.unlock();
    }
  }
}
