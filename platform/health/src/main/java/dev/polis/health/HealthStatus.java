package dev.polis.health;

import java.time.Instant;
import java.util.List;
import java.util.Objects;

/**
 * Holds the status of one organ or role at one moment.
 *
 * @param name what it is called: {@code consensus}, {@code ConsensusMember}
 * @param kind whether it is an organ or a role
 * @param level the worst level of its conditions; {@link HealthLevel#UP} if there are none
 * @param code the code of the worst condition; {@code up} if there are none
 * @param reason the reason of the worst condition; empty if there are none
 * @param remedy the remedy of the worst condition; empty if there is nothing to do
 * @param since when the worst condition came about, or the organ was opened if there are none
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

  /** The code of an organ or a role about which there is nothing to say. */
  public static final String CODE_UP = "up";

  /** Copies the conditions. */
  public HealthStatus {
    Objects.requireNonNull(name, "name");
    conditions = List.copyOf(conditions);
  }

  /**
   * Makes the status of an organ or a role that is well and about which there is nothing to say.
   *
   * @param name what it is called
   * @param kind what it is
   * @param since when it was opened
   * @return a status of level {@link HealthLevel#UP}
   */
  public static HealthStatus up(String name, HealthKind kind, Instant since) {
    return new HealthStatus(name, kind, HealthLevel.UP, CODE_UP, "", "", since, List.of());
  }

  /**
   * Makes a status from conditions.
   *
   * @param name what it is called
   * @param kind what it is
   * @param since when the first of the conditions came about
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
