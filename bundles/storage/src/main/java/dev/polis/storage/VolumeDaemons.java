package dev.polis.storage;

import dev.polis.files.FileException;
import java.util.List;

/** Runs the programs that serve a mounted volume; they outlive this bundle and the process. */
interface VolumeDaemons {

  /** The organ calls this periodically until a daemon is ready. */
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

  /** Ends a daemon and waits for its end; no failure if there is none. */
  void stop(String name) throws FileException, InterruptedException;

  /** Returns whether it runs. */
  boolean running(String name);
}
