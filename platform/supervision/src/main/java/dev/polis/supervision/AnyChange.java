package dev.polis.supervision;

import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import java.time.Duration;
import java.util.Map;

/** Calls back when one of several values changes. */
public final class AnyChange {

  private AnyChange() {}

  /**
   * Starts one child for each value. Each child calls back for the present value and after each
   * change, one call at a time.
   *
   * @param sources the values, by the names of the children
   */
  public static void follow(Context context, Map<String, Value<?>> sources, Runnable update) {
    follow(context, sources, Duration.ZERO, update);
  }

  /**
   * Starts one child for each value, as {@link #follow(Context, Map, Runnable)}, for values that
   * change more often than a call is worth its work.
   *
   * @param sources the values, by the names of the children
   * @param pause the shortest time from the end of a call to the next one; changes within it are
   *     answered by one call after it
   */
  public static void follow(
      Context context, Map<String, Value<?>> sources, Duration pause, Runnable update) {
    Object turn = new Object();
    sources.forEach(
        (name, source) -> context.run(name, child -> follow(child, source, turn, pause, update)));
  }

  private static void follow(
      Context context, Value<?> source, Object turn, Duration pause, Runnable update)
      throws InterruptedException {
    context.healthy();
    try (Watcher<?> changes = source.watch()) {
      while (true) {
        changes.get();
        synchronized (turn) {
          update.run();
          Thread.sleep(pause);
        }
      }
    }
  }
}
