package dev.polis.base.values;

import java.util.Optional;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Gives the current state of something, and lets readers follow its changes.
 *
 * <p>All methods may be called from any thread and do not block on other watchers.
 *
 * @param <T> what is held; immutable, since it is handed to many threads
 */
@ConsumerType
public interface Value<T> {

  /**
   * Opens a watcher that has seen nothing yet: its first get returns the current value, if there is
   * one.
   *
   * @return a new watcher; its opener closes it
   */
  Watcher<T> watch();

  /**
   * Returns the newest value known without waiting.
   *
   * @return the newest value, or empty when none was ever known
   */
  Optional<T> peek();
}
