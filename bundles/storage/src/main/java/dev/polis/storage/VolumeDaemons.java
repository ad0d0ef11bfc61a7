package dev.polis.storage;

import dev.polis.files.FileException;
import java.util.List;

/** Runs the programs of a mounted volume, which survive this bundle and the process. */
interface VolumeDaemons {

  /** Checks whether a daemon is ready; called periodically until it is. */
  @FunctionalInterface
  interface Ready {
    /**
     * Checks once.
     *
     * @param said the output of the daemon since the start was requested
     */
    boolean now(String said) throws FileException;
  }

  /**
   * Starts a daemon, or finds it running, and waits until it is ready.
   *
   * @throws FileException IO, with the daemon's last lines, if it ended or did not become ready
   */
  void start(String name, List<String> command, Ready ready)
      throws FileException, InterruptedException;

  /** Ends a daemon and waits for its end; does nothing if there is none. */
  void stop(String name) throws FileException, InterruptedException;

  /** Returns whether the daemon runs. */
  boolean running(String name);
}
