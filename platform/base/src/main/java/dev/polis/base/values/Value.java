package dev.polis.base.values;

import java.util.Optional;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Gives a current state, and lets readers follow its changes.
 *
 * <p>All methods may be called from any thread and do not block on other watchers.
 *
 * @param <T> the type of the state; immutable, since many threads share it
 */
@ConsumerType
public interface Value<T> {

  /**
   * Opens a new watcher; its first get returns the current value, if there is one.
   *
   * @return a new watcher; its opener closes it
   */
  Watcher<T> watch();

  /**
   * Returns the newest value without waiting.
   *
   * @return the newest value; empty if there was none yet
   */
  Optional<T> peek();
}
