package dev.polis.health;

import org.osgi.annotation.versioning.ProviderType;

/** Publishes the health of one instance of an organ or a role. Usable from any thread. */
@ProviderType
public interface HealthScope extends AutoCloseable {

  /**
   * Publishes a condition. It stays until the scope clears it or publishes another one with the
   * same code. A second call with an equal condition changes nothing.
   *
   * @param condition the condition
   */
  void set(HealthCondition condition);

  /**
   * Removes a condition. An unpublished code is no error.
   *
   * @param code the code of the condition
   */
  void clear(String code);

  /** Removes all conditions and ends this instance. Later calls have no effect. */
  @Override
  void close();
}
