package dev.polis.storage;

import dev.polis.files.FileException;
import java.util.List;

/**
 * The programs that serve a volume while it is mounted; they outlive this bundle and the process.
 */
interface VolumeDaemons {

  /** Asked again and again until a daemon is ready. */
  @FunctionalInterface
  interface Ready {
    /**
     * Looks once.
     *
     * @param said what the daemon has printed since it was asked for
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

  /** Whether it runs. */
  boolean running(String name);
}
