package dev.polis.health;

import java.util.Optional;

/** Publishes at most one condition of a scope at a time. One thread uses it. */
final class OneCondition {
  private final HealthScope scope;

  /** The published condition; null if there is none. */
  private HealthCondition published;

  OneCondition(HealthScope scope) {
    this.scope = scope;
  }

  /** Publishes a condition in place of the former one. */
  void publish(Optional<HealthCondition> next) {
    if (published != null && next.filter(each -> each.code().equals(published.code())).isEmpty()) {
      clear();
    }
    next.ifPresent(scope::set);
    published = next.orElse(null);
  }

  /** Removes the published condition. */
  void clear() {
    if (published != null) {
      scope.clear(published.code());
      published = null;
    }
  }
}
