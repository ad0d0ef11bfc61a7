package dev.polis.network;

import dev.polis.api.network.ClockStatus;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;

/** Derives the health of this organ from the status of the machine's clock. */
final class ClockHealth {

  /** The same as for the clock of the leader: certificates begin five minutes early. */
  private static final Duration TOLERATED = Duration.ofMinutes(1);

  private static final double NANOS_PER_MILLI = 1e6;

  private ClockHealth() {}

  static Optional<HealthCondition> of(ClockStatus status) {
    return switch (status) {
      case ClockStatus.NotKept(String reason, String remedy) ->
          reason.isBlank()
              ? Optional.empty()
              : Optional.of(new HealthCondition(HealthLevel.UP, "clock-not-kept", reason, remedy));
      case ClockStatus.Searching(String reason, boolean late) ->
          late
              ? Optional.of(
                  HealthCondition.degraded(
                      "clock-not-synchronised",
                      "this machine's clock follows no time server: " + reason,
                      "let this machine reach port 123 (UDP) of the servers, or name others: polisctl config set dev.polis.network.time.servers=NAME,NAME"))
              : Optional.empty();
      case ClockStatus.Synchronised now ->
          Optional.of(
              now.offset().abs().compareTo(TOLERATED) > 0
                  ? HealthCondition.degraded(
                      "clock-not-synchronised",
                      text(now) + "; it is set only when it is first compared",
                      "restart the machine, or name other servers, which begins anew: polisctl config set dev.polis.network.time.servers=NAME,NAME; if the server is false, name others")
                  : HealthCondition.up("clock-synchronised", text(now)));
    };
  }

  private static String text(ClockStatus.Synchronised now) {
    return String.format(
        Locale.ROOT,
        "this machine's clock follows the time server %s, and differed by %.3f ms at %s",
        now.server(),
        now.offset().toNanos() / NANOS_PER_MILLI,
        now.at());
  }
}
