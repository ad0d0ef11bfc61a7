package dev.polis.roles;

import dev.polis.health.ClockRemedy;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import java.time.Duration;
import java.time.Instant;

/**
 * Compares this machine's wall clock with that of the leader, which each answer to a heartbeat
 * gives. A difference does not tell which of them is wrong, so the condition names both. One thread
 * uses it.
 */
final class LeaderClock {

  private static final String DIFFERS = "clock-differs";

  /**
   * The tolerated difference. It is a fifth of the five minutes by which certificates begin before
   * their issue, so health names the clock before a node refuses a new certificate.
   */
  private static final Duration TOLERATED = Duration.ofMinutes(1);

  private final HealthScope health;
  private boolean differs;

  LeaderClock(HealthScope health) {
    this.health = health;
  }

  /**
   * Judges one answer.
   *
   * @param asked this machine's clock before the heartbeat was sent
   * @param leader the leader's clock between both
   * @param answered this machine's clock after the answer
   */
  void compare(Instant asked, Instant leader, Instant answered) {
    Duration ahead = Duration.between(leader, asked);
    Duration behind = Duration.between(answered, leader);
    if (ahead.compareTo(TOLERATED) > 0) {
      report(ahead, "ahead of");
    } else if (behind.compareTo(TOLERATED) > 0) {
      report(behind, "behind");
    } else if (differs) {
      differs = false;
      health.clear(DIFFERS);
    }
  }

  private void report(Duration difference, String direction) {
    differs = true;
    health.set(
        HealthCondition.degraded(
            DIFFERS,
            "this machine's clock is %d min %s the leader's, so one of the two is wrong"
                .formatted(difference.plusSeconds(30).toMinutes(), direction),
            "set the wrong clock, on this machine or on the leader, which polisctl explain curator names: %s; certificates allow for 5 min"
                .formatted(ClockRemedy.WAYS)));
  }
}
