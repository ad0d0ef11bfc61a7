package dev.polis.health;

import dev.polis.logtree.Log;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.function.Function;

/**
 * Names what the node has restored by itself, in the log and for an hour in the health. All works
 * again; a person may want to find what had removed it. For one thread.
 */
public final class RestoredNotice {

  /** How long the health shows it. */
  private static final Duration SHOWN = Duration.ofHours(1);

  /** Is the condition that the health shows now, if any. */
  private sealed interface Condition {
    record None() implements Condition {}

    record Shown(String code, Instant until) implements Condition {}
  }

  private final Function<String, HealthCondition> condition;
  private final HealthScope health;
  private final InstantSource clock;
  private Condition shown = new Condition.None();

  /**
   * @param condition makes the condition of a text; all have one code
   */
  public RestoredNotice(
      Function<String, HealthCondition> condition, HealthScope health, InstantSource clock) {
    this.condition = condition;
    this.health = health;
    this.clock = clock;
  }

  /**
   * Says that something was restored just now.
   *
   * @param what a sentence without its full stop
   */
  public void tell(String what, Log log) {
    Instant now = clock.instant();
    log.warning("%s", what);
    HealthCondition made =
        condition.apply(
            "%s, at %s; shown for an hour".formatted(what, now.truncatedTo(ChronoUnit.SECONDS)));
    health.set(made);
    shown = new Condition.Shown(made.code(), now.plus(SHOWN));
  }

  /** Ends the condition when its time is over; to be called now and then. */
  public void look() {
    if (shown instanceof Condition.Shown(_, Instant until) && !clock.instant().isBefore(until)) {
      close();
    }
  }

  /** Ends the condition. */
  public void close() {
    if (shown instanceof Condition.Shown(String code, _)) {
      health.clear(code);
      shown = new Condition.None();
    }
  }
}
