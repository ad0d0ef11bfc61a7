package dev.polis.health;

import java.time.Instant;
import java.util.List;
import java.util.Objects;

/**
 * Holds the status of one organ or role at one moment.
 *
 * @param name its name: {@code consensus}, {@code ConsensusMember}
 * @param kind organ or role
 * @param level the worst level of its conditions; {@link HealthLevel#UP} if there are none
 * @param code the code of the worst condition; {@code up} if there are none
 * @param reason the reason of the worst condition; empty if there are none
 * @param remedy the remedy of the worst condition; empty if there is nothing to do
 * @param since the time at which the worst condition appeared, or the organ was opened if there is
 *     none
 * @param conditions all conditions, the worst first, of equals the oldest
 */
public record HealthStatus(
    String name,
    HealthKind kind,
    HealthLevel level,
    String code,
    String reason,
    String remedy,
    Instant since,
    List<HealthCondition> conditions) {

  /** The code of an organ or a role without conditions. */
  public static final String CODE_UP = "up";

  /** Copies the conditions. */
  public HealthStatus {
    Objects.requireNonNull(name, "name");
    conditions = List.copyOf(conditions);
  }

  /**
   * Creates the status of an organ or a role without conditions.
   *
   * @param name its name
   * @param kind organ or role
   * @param since the time at which it was opened
   * @return a status of level {@link HealthLevel#UP}
   */
  public static HealthStatus up(String name, HealthKind kind, Instant since) {
    return new HealthStatus(name, kind, HealthLevel.UP, CODE_UP, "", "", since, List.of());
  }

  /**
   * Creates a status from conditions.
   *
   * @param name its name
   * @param kind organ or role
   * @param since the time at which the first condition appeared
   * @param conditions at least one, the worst first
   * @return a status that repeats the first condition
   */
  public static HealthStatus of(
      String name, HealthKind kind, Instant since, List<HealthCondition> conditions) {
    HealthCondition worst = conditions.getFirst();
    return new HealthStatus(
        name, kind, worst.level(), worst.code(), worst.reason(), worst.remedy(), since, conditions);
  }
}
