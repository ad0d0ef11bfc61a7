package dev.polis.process;

import dev.polis.base.values.Value;
import java.nio.file.Path;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Gives access to a child process that was started or adopted. Dropping this object does nothing to
 * the process. Safe for any thread.
 */
@ProviderType
public interface ManagedProcess {
  /** Returns the name in its spec. */
  String name();

  /** Returns its process id. */
  long pid();

  /** Returns whether it was found running. */
  boolean adopted();

  /** Returns the file that its output is appended to. */
  Path log();

  /**
   * Returns how long that file was when it started, since what earlier processes have logged is not
   * the reason of this one's end; 0 if it was adopted, as all of the log may be its own.
   */
  long logStart();

  /** Returns its status, as a value that is never empty. */
  Value<ProcessStatus> status();

  /** Returns whether it runs as far as is known. */
  default boolean running() {
    return status().peek().filter(ProcessStatus.Running.class::isInstance).isPresent();
  }

  /**
   * Ends it with SIGTERM, and after the grace of its spec with SIGKILL; then the rest of its scope.
   * Returns once all that is gone. A newer process of the same name is left alone.
   *
   * @throws InterruptedException if the wait is interrupted; the process may live on
   * @throws ProcessException if something survives SIGKILL
   */
  void stop() throws InterruptedException;
}
