package dev.polis.roles;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import java.time.Duration;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * Publishes that one kind of call to the leader has failed for longer than a change of leaders
 * takes. One thread uses it.
 */
final class LeaderContact {

  /** The time in which another leader follows a dead one, after which heartbeats time out. */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /**
   * The organs that these calls need on this node, which are the roots of a failure if they fail.
   */
  private static final String[] NEEDED = {"curator", "consensus", "network", "cluster"};

  /** The remedy if none of those organs is the root. */
  static final String REMEDY =
      "polisctl explain curator names the leader; the node repeats the calls";

  private final HealthScope health;
  private final Function<String, HealthCondition> condition;
  private final LongSupplier nanoTime;
  private boolean failing;
  private long since;

  /**
   * @param condition makes the condition from the duration and the reason of the failures
   * @param nanoTime a monotonic clock
   */
  LeaderContact(
      HealthScope health, Function<String, HealthCondition> condition, LongSupplier nanoTime) {
    this.health = health;
    this.condition = condition;
    this.nanoTime = nanoTime;
  }

  /** Records a failed call. */
  void failed(String why) {
    long now = nanoTime.getAsLong();
    if (!failing) {
      failing = true;
      since = now;
    }
    Duration lasted = Duration.ofNanos(now - since);
    if (lasted.compareTo(PATIENCE) >= 0) {
      health.set(condition.apply("for %d s: %s".formatted(lasted.toSeconds(), why)).dueTo(NEEDED));
    }
  }

  /** Records an answered call. */
  void answered() {
    if (failing) {
      failing = false;
      health.clear(condition.apply("").code());
    }
  }
}
