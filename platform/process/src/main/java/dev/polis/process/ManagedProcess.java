package dev.polis.process;

import dev.polis.event.Value;
import java.nio.file.Path;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A child process that was started or adopted. Dropping this object does nothing to the process.
 * Safe for any thread.
 */
@ProviderType
public interface ManagedProcess {
  /** The name in its spec. */
  String name();

  /** Its process id. */
  long pid();

  /** Whether it was found running. */
  boolean adopted();

  /** The file that its output is appended to. */
  Path log();

  /** What becomes of it; always holds a value. */
  Value<ProcessStatus> status();

  /** Whether it runs as far as is known. */
  default boolean running() {
    return status().peek().filter(ProcessStatus.Running.class::isInstance).isPresent();
  }

  /**
   * Ends it: SIGTERM, the grace of its spec, SIGKILL; then whatever its scope takes in. Returns
   * once all that is gone; at once if it is already. Does nothing to a process that has taken its
   * name since.
   *
   * @throws InterruptedException if the wait is interrupted; the process may live on
   * @throws ProcessException if something survives SIGKILL
   */
  void stop() throws InterruptedException;
}
