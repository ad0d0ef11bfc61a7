package dev.polis.health;

import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.time.Duration;
import java.util.Optional;

/**
 * Looks again and again at something of the node itself that announces no change, such as its
 * clock, and publishes what is wrong with it.
 */
public final class SelfCheck {

  /** A person waits no longer for a screen, and a look reads a file or two. */
  private static final Duration LOOK_EVERY = Duration.ofSeconds(5);

  /** Looks once. */
  @FunctionalInterface
  public interface Look {

    /**
     * Returns what is wrong now.
     *
     * @return empty if all is well
     * @throws Exception if it cannot be found out; the runnable fails then
     */
    Optional<HealthCondition> look() throws Exception;
  }

  private SelfCheck() {}

  /**
   * Makes a task that looks until it is cancelled.
   *
   * @param scope where to publish
   * @param look what to look at; called by one thread
   * @return to be run in the organ's subtree
   */
  public static Task task(HealthScope scope, Look look) {
    return context -> run(context, new OneCondition(scope), look);
  }

  private static void run(Context context, OneCondition condition, Look look) throws Exception {
    try {
      context.healthy();
      condition.publish(look.look());
      while (true) {
        Thread.sleep(LOOK_EVERY);
        condition.publish(look.look());
      }
    } finally {
      condition.clear();
    }
  }
}
