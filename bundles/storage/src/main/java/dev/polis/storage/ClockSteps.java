package dev.polis.storage;

import dev.polis.base.posix.BootClock;
import dev.polis.health.ClockRemedy;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Shows for an hour that something has set this machine's clock forward while the node ran. Only a
 * person knows whether it was wrong before or is now; a clock that is ahead does harm later, when
 * certificates end or begin by it. One thread uses it.
 */
final class ClockSteps {

  /** The tolerated step, the same as for a clock that is set back. */
  private static final Duration TOLERATED = Duration.ofMinutes(1);

  private static final Duration SHOWN = Duration.ofHours(1);

  /**
   * Describes a step forward.
   *
   * @param before the offset of the clock to the one since the boot, before the step
   * @param ahead how far the clock was set
   * @param set what the clock showed right after it
   * @param until the end of the report, by the clock since the boot
   */
  private record Step(Duration before, Duration ahead, Instant set, Duration until) {}

  private final InstantSource clock;
  private final LongSupplier bootMillis;
  private Duration offset; // of the clock to the one since the boot, at the last look
  private Duration beforeBack; // the offset before a step back; null without one
  private Step shown; // null while there is none

  /**
   * @param bootMillis the time since the boot, suspensions included, in milliseconds
   */
  ClockSteps(InstantSource clock, LongSupplier bootMillis) {
    this.clock = clock;
    this.bootMillis = bootMillis;
    this.offset = offset(clock.instant(), boot());
  }

  /** Makes the check of a node. */
  static ClockSteps ofMachine() {
    return new ClockSteps(InstantSource.system(), new BootClock());
  }

  /** Reports the newest step forward, unless the clock was set back since, by as much or more. */
  Optional<HealthCondition> look() {
    Duration boot = boot();
    Instant now = clock.instant();
    Duration former = offset;
    offset = offset(now, boot);
    Duration ahead = offset.minus(former);
    if (ahead.negated().compareTo(TOLERATED) > 0 && shown == null) {
      beforeBack = former;
    } else if (ahead.compareTo(TOLERATED) > 0 && isUndone()) {
      beforeBack = null;
    } else if (ahead.compareTo(TOLERATED) > 0) {
      shown = new Step(former, ahead, now, boot.plus(SHOWN));
    }
    if (shown != null && isOver(shown, boot)) {
      shown = null;
    }
    return Optional.ofNullable(shown).map(ClockSteps::condition);
  }

  /** Returns whether the clock shows again what it would without its latest step back. */
  private boolean isUndone() {
    return beforeBack != null && offset.minus(beforeBack).abs().compareTo(TOLERATED) <= 0;
  }

  private boolean isOver(Step step, Duration boot) {
    return boot.compareTo(step.until()) >= 0
        || offset.minus(step.before()).compareTo(TOLERATED) <= 0;
  }

  private Duration boot() {
    return Duration.ofMillis(bootMillis.getAsLong());
  }

  private static Duration offset(Instant now, Duration boot) {
    return Duration.between(Instant.EPOCH.plus(boot), now);
  }

  private static HealthCondition condition(Step step) {
    return new HealthCondition(
        HealthLevel.UP,
        "clock-set-forward",
        "this machine's clock was set forward by %s while the node ran: from %s to %s; shown for an hour"
            .formatted(
                text(step.ahead()), second(step.set().minus(step.ahead())), second(step.set())),
        "nothing if it was behind before; if it is ahead now, set it back before certificates end by it: "
            + ClockRemedy.WAYS);
  }

  private static Instant second(Instant time) {
    return time.truncatedTo(ChronoUnit.SECONDS);
  }

  private static String text(Duration ahead) {
    if (ahead.toDays() > 1) {
      return "%d days".formatted(ahead.plusHours(12).toDays());
    }
    return ahead.toHours() > 1
        ? "%d h".formatted(ahead.plusMinutes(30).toHours())
        : "%d min".formatted(ahead.plusSeconds(30).toMinutes());
  }
}
