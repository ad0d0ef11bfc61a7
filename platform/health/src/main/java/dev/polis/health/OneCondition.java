package dev.polis.health;

import java.util.Optional;

/** Keeps the one condition published that a follower of a scope finds. Belongs to one thread. */
final class OneCondition {
  private final HealthScope scope;

  /** The condition that is published at present; null if there is none. */
  private HealthCondition published;

  OneCondition(HealthScope scope) {
    this.scope = scope;
  }

  /** Publishes what is the case now in place of what was. */
  void publish(Optional<HealthCondition> next) {
    if (published != null && next.filter(each -> each.code().equals(published.code())).isEmpty()) {
      clear();
    }
    next.ifPresent(scope::set);
    published = next.orElse(null);
  }

  /** Takes back what is published. */
  void clear() {
    if (published != null) {
      scope.clear(published.code());
      published = null;
    }
  }
}
