package dev.polis.plugins.swap;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthKind;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import java.util.HashSet;
import java.util.Set;

/**
 * Publishes facts about the plugins of a node, beside its organs, while there are any. One instance
 * serves all who know such facts: of several only the newest would be shown. Thread-safe.
 */
public final class PluginsHealth implements HealthScope {
  private final HealthRegistry health;

  // Guarded by this.
  private final Set<String> codes = new HashSet<>();
  private HealthScope scopeOrNull; // null while there is nothing to say
  private boolean closed;

  /**
   * Publishes nothing yet.
   *
   * @param health the node's health table
   */
  public PluginsHealth(HealthRegistry health) {
    this.health = health;
  }

  @Override
  public synchronized void set(HealthCondition condition) {
    if (closed) {
      return;
    }
    if (scopeOrNull == null) {
      scopeOrNull = health.open(HealthKind.ORGAN, "plugins", "");
    }
    codes.add(condition.code());
    scopeOrNull.set(condition);
  }

  @Override
  public synchronized void clear(String code) {
    if (!codes.remove(code)) {
      return;
    }
    scopeOrNull.clear(code);
    if (codes.isEmpty()) {
      scopeOrNull.close();
      scopeOrNull = null;
    }
  }

  /** Takes all facts back; later ones are not published. */
  @Override
  public synchronized void close() {
    closed = true;
    Set.copyOf(codes).forEach(this::clear);
  }
}
