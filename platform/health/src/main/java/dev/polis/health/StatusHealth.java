package dev.polis.health;

import dev.polis.base.values.Value;
import dev.polis.base.values.Values;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.util.Optional;
import java.util.function.Function;

/**
 * Publishes the status value of an organ as a health condition, for as long as its task runs.
 *
 * @param <T> what the status value holds
 */
public final class StatusHealth<T> {
  private final Value<T> status;
  private final OneCondition condition;
  private final Function<? super T, Optional<HealthCondition>> judge;

  private StatusHealth(
      Value<T> status, HealthScope scope, Function<? super T, Optional<HealthCondition>> judge) {
    this.status = status;
    this.condition = new OneCondition(scope);
    this.judge = judge;
  }

  /**
   * Makes a task that follows a status and publishes what it means for the organ's health.
   *
   * @param status what to follow
   * @param scope where to publish
   * @param judge tells what a status means; empty if all is well
   * @param <T> what the status value holds
   * @return to be run in the organ's subtree
   */
  public static <T> Task task(
      Value<T> status, HealthScope scope, Function<? super T, Optional<HealthCondition>> judge) {
    return context -> new StatusHealth<T>(status, scope, judge).run(context);
  }

  private void run(Context context) throws Exception {
    context.healthy();
    try {
      Values.follow(status, now -> condition.publish(judge.apply(now)));
    } finally {
      condition.clear();
    }
  }
}
