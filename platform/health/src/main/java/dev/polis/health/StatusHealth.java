package dev.polis.health;

import dev.polis.base.values.Value;
import dev.polis.base.values.Values;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.util.Optional;
import java.util.function.Function;

/**
 * Publishes the status value of an organ as a health condition while its task runs.
 *
 * @param <T> the type of the status
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
   * Makes a task that follows a status and publishes its health condition.
   *
   * @param status the followed status
   * @param scope publishes the condition
   * @param judge returns the condition of a status; empty if all is well
   * @param <T> the type of the status
   * @return a task for the organ's subtree
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
