package dev.polis.process;

import dev.polis.base.values.Value;
import java.nio.file.Path;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Gives access to a child process that was started or adopted. The process does not depend on this
 * object. It is safe for any thread.
 */
@ProviderType
public interface ManagedProcess {
  /** Returns the name of the process. */
  String name();

  /** Returns its process id. */
  long pid();

  /** Returns whether the process was adopted. */
  boolean adopted();

  /** Returns the log file of the process's output. */
  Path log();

  /**
   * Returns the length of the log at the start of the process, since earlier lines belong to
   * earlier processes; 0 for an adopted process, whose log may all be its own.
   */
  long logStart();

  /** Returns the status of the process, as a value that is never empty. */
  Value<ProcessStatus> status();

  /** Returns whether the process runs, as far as known. */
  default boolean running() {
    return status().peek().filter(ProcessStatus.Running.class::isInstance).isPresent();
  }

  /**
   * Ends the process with SIGTERM, and after its grace with SIGKILL; then the rest of its scope. It
   * returns when all of them are gone, and does not touch a newer process of the same name.
   *
   * @throws InterruptedException if the wait is interrupted; the process may still run
   * @throws ProcessException if a process survives SIGKILL
   */
  void stop() throws InterruptedException;
}
