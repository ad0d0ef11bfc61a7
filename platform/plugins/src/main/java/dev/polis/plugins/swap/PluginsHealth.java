package dev.polis.plugins.swap;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthKind;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import java.util.HashSet;
import java.util.Set;

/**
 * Publishes facts about the node's plugins in the health table, as long as there are any. One
 * instance serves all sources of such facts, since the table would show only the newest of several.
 * Thread-safe.
 */
public final class PluginsHealth implements HealthScope {
  private final HealthRegistry health;

  // Guarded by this.
  private final Set<String> codes = new HashSet<>();
  private HealthScope scopeOrNull; // null without facts
  private boolean closed;

  /**
   * Creates it without facts.
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

  /** Removes all facts, and ignores later ones. */
  @Override
  public synchronized void close() {
    closed = true;
    Set.copyOf(codes).forEach(this::clear);
  }
}
