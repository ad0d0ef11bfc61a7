package dev.polis.roles;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import java.time.Duration;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * Publishes that one kind of call to the leader has failed for longer than a change of the leader
 * takes. Belongs to one thread.
 */
final class LeaderContact {

  /** A leader that is gone is followed by another within this time; heartbeats time out then. */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** What these calls need on this node; where one of them fails, it is to blame. */
  private static final String[] NEEDED = {"curator", "consensus", "network", "cluster"};

  /** What to do, unless one of those is to blame. */
  static final String REMEDY =
      "polisctl explain curator names the leader; the node repeats the calls";

  private final HealthScope health;
  private final Function<String, HealthCondition> condition;
  private final LongSupplier nanoTime;
  private boolean failing;
  private long since;

  /**
   * @param condition makes the condition from how long and why the calls have failed
   * @param nanoTime a monotonic clock
   */
  LeaderContact(
      HealthScope health, Function<String, HealthCondition> condition, LongSupplier nanoTime) {
    this.health = health;
    this.condition = condition;
    this.nanoTime = nanoTime;
  }

  /** Notes that a call has failed. */
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

  /** Notes that a call was answered. */
  void answered() {
    if (failing) {
      failing = false;
      health.clear(condition.apply("").code());
    }
  }
}
