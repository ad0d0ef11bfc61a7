package dev.polis.storage;

import dev.polis.files.FileException;

/** Cleans up after a failure, also on an interrupted thread. */
final class Uninterrupted {

  /** The clean-up after the failure. */
  @FunctionalInterface
  interface CleanUp {
    void run() throws FileException, InterruptedException;
  }

  private Uninterrupted() {}

  /**
   * Runs a clean-up without the interrupt of this thread, and restores the interrupt afterwards.
   *
   * @param failure gets the failures of the clean-up as suppressed exceptions
   */
  static void afterFailure(Exception failure, CleanUp cleanUp) {
    boolean interrupted = Thread.interrupted();
    try {
      cleanUp.run();
    } catch (FileException e) {
      failure.addSuppressed(e);
    } catch (InterruptedException e) {
      failure.addSuppressed(e);
      interrupted = true;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
