package dev.polis.health;

import org.osgi.annotation.versioning.ProviderType;

/**
 * The place where one instance of an organ or a role publishes its health. Usable from any thread.
 */
@ProviderType
public interface HealthScope extends AutoCloseable {

  /**
   * Publishes a condition. It stands until it is cleared, or replaced by another of the same code.
   * Publishing an equal condition again changes nothing.
   *
   * @param condition what is the case
   */
  void set(HealthCondition condition);

  /**
   * Takes a condition back. A code that is not published is no error.
   *
   * @param code the code it was published with
   */
  void clear(String code);

  /** Takes all conditions back and ends this instance. Later calls have no effect. */
  @Override
  void close();
}
