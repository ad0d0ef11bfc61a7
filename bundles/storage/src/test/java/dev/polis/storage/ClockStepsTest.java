package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ClockStepsTest {
  private Instant now = Instant.parse("2026-05-01T12:00:00Z");
  private long millis;
  private final ClockSteps steps = new ClockSteps(() -> now, () -> millis);

  private void pass(Duration time) {
    now = now.plus(time);
    millis += time.toMillis();
  }

  @Test
  @DisplayName("a clock that is set forward is named with both times, before a certificate ends")
  void forward() {
    assertEquals(Optional.empty(), steps.look());
    pass(Duration.ofSeconds(5));
    now = now.plus(Duration.ofDays(20));

    HealthCondition condition = steps.look().orElseThrow();

    assertEquals(HealthLevel.UP, condition.level());
    assertEquals("clock-set-forward", condition.code());
    assertEquals(
        "this machine's clock was set forward by 20 days while the node ran: from 2026-05-01T12:00:05Z to 2026-05-21T12:00:05Z; shown for an hour",
        condition.reason());
    assertTrue(condition.remedy().contains("timedatectl set-ntp true"), condition::remedy);
    pass(Duration.ofMinutes(59));
    assertTrue(steps.look().isPresent());
    pass(Duration.ofMinutes(1));
    assertEquals(Optional.empty(), steps.look());
  }

  @Test
  @DisplayName("a step that is undone is over, and one that is undone in part is not")
  void undone() {
    now = now.plus(Duration.ofHours(3));
    assertTrue(steps.look().orElseThrow().reason().contains("by 3 h while"));
    now = now.minus(Duration.ofHours(1));
    assertTrue(steps.look().isPresent());
    now = now.minus(Duration.ofHours(2));
    assertEquals(Optional.empty(), steps.look());
  }

  @Test
  @DisplayName("a suspension of the machine, and a correction of less than a minute, is no step")
  void noStep() {
    pass(Duration.ofDays(1));
    assertEquals(Optional.empty(), steps.look());
    now = now.plusSeconds(60);
    assertEquals(Optional.empty(), steps.look());
  }

  @Test
  @DisplayName(
      "a clock that went back and is right again was not set forward; a further step is one")
  void back() {
    now = now.minus(Duration.ofDays(1));
    assertEquals(Optional.empty(), steps.look());
    now = now.plus(Duration.ofDays(1));
    assertEquals(Optional.empty(), steps.look());
    now = now.plus(Duration.ofDays(1));
    assertTrue(steps.look().orElseThrow().reason().contains("by 24 h while"));
  }
}
