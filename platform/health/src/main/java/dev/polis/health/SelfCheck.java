package dev.polis.health;

import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.time.Duration;
import java.util.Optional;

/**
 * Checks regularly a part of the node that announces no change, such as its clock, and publishes
 * its faults.
 */
public final class SelfCheck {

  /**
   * The interval of checks: a person waits no longer for a screen, and a check reads a file or two.
   */
  private static final Duration LOOK_EVERY = Duration.ofSeconds(5);

  /** Is one check. */
  @FunctionalInterface
  public interface Look {

    /**
     * Returns the present fault.
     *
     * @return empty if all is well
     * @throws Exception if the check fails; the runnable fails then
     */
    Optional<HealthCondition> look() throws Exception;
  }

  private SelfCheck() {}

  /**
   * Makes a task that checks until it is cancelled.
   *
   * @param scope publishes the faults
   * @param look the check; called by one thread
   * @return a task for the organ's subtree
   */
  public static Task task(HealthScope scope, Look look) {
    return task(scope, look, LOOK_EVERY);
  }

  /** Makes a task with another interval. */
  static Task task(HealthScope scope, Look look, Duration every) {
    return context -> run(context, new OneCondition(scope), look, every);
  }

  private static void run(Context context, OneCondition condition, Look look, Duration every)
      throws Exception {
    try {
      context.healthy();
      condition.publish(look.look());
      while (true) {
        Thread.sleep(every);
        condition.publish(look.look());
      }
    } finally {
      condition.clear();
    }
  }
}
