package dev.polis.health;

import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * One fact about the health of an organ or a role.
 *
 * @param level how bad the fact is; {@link HealthLevel#UP} for one that is merely worth showing
 * @param code a stable name for programs, in kebab-case, such as {@code no-recovery-share}
 * @param reason the fact in one sentence for people; never blank
 * @param remedy what a person can do about it; empty if there is nothing to do, or if what to do
 *     follows from the reason alone: then the health table finds it
 * @param dueTo the organs and roles from whose state it follows; its own organ's name if none but
 *     itself is to blame; empty if that is to be found from what the organ needs
 */
public record HealthCondition(
    HealthLevel level, String code, String reason, String remedy, Set<String> dueTo) {
  private static final Pattern KEBAB_CASE = Pattern.compile("[a-z0-9]+(-[a-z0-9]+)*");

  /** Refuses a code that is not kebab-case and a reason that says nothing. */
  public HealthCondition {
    Objects.requireNonNull(level, "level");
    Objects.requireNonNull(remedy, "remedy");
    reason = PlainWords.oneLine(reason);
    dueTo = Set.copyOf(dueTo);
    if (!KEBAB_CASE.matcher(code).matches()) {
      throw new IllegalArgumentException(
          "\"%s\" cannot be the code of a health condition: use kebab-case, such as no-recovery-share"
              .formatted(code));
    }
    if (reason.isBlank()) {
      throw new IllegalArgumentException(
          "the health condition %s has no reason: give the reason in one sentence".formatted(code));
    }
  }

  /** Makes a condition whose blame is to be found from what the organ needs. */
  public HealthCondition(HealthLevel level, String code, String reason, String remedy) {
    this(level, code, reason, remedy, Set.of());
  }

  /**
   * Returns the same condition as the consequence of others.
   *
   * @param names the organs and roles from whose state it follows; the name of its own organ says
   *     that no other one is to blame
   * @return a copy
   */
  public HealthCondition dueTo(String... names) {
    return new HealthCondition(level, code, reason, remedy, Set.of(names));
  }

  /** Returns the same condition at another level. */
  HealthCondition at(HealthLevel other) {
    return new HealthCondition(other, code, reason, remedy, dueTo);
  }

  /**
   * Returns the same condition with another remedy.
   *
   * @param other what a person can do about it
   * @return a copy
   */
  HealthCondition withRemedy(String other) {
    return new HealthCondition(level, code, reason, other, dueTo);
  }

  /**
   * Makes a fact that is worth showing although all is well.
   *
   * @param code a stable name, in kebab-case
   * @param reason the fact, for people
   * @return a condition of level {@link HealthLevel#UP}
   */
  public static HealthCondition up(String code, String reason) {
    return new HealthCondition(HealthLevel.UP, code, reason, "");
  }

  /**
   * Makes a fact that should be repaired although the work is done.
   *
   * @param code a stable name, in kebab-case
   * @param reason the fact, for people
   * @param remedy what to do about it; empty if there is nothing to do
   * @return a condition of level {@link HealthLevel#DEGRADED}
   */
  public static HealthCondition degraded(String code, String reason, String remedy) {
    return new HealthCondition(HealthLevel.DEGRADED, code, reason, remedy);
  }

  /**
   * Makes a fact that says what the work waits for.
   *
   * @param code a stable name, in kebab-case
   * @param reason the fact, for people
   * @return a condition of level {@link HealthLevel#WAITING}
   */
  public static HealthCondition waiting(String code, String reason) {
    return new HealthCondition(HealthLevel.WAITING, code, reason, "");
  }

  /**
   * Makes a fact that says why the work is not done.
   *
   * @param code a stable name, in kebab-case
   * @param reason the fact, for people
   * @param remedy what to do about it; empty if there is nothing to do
   * @return a condition of level {@link HealthLevel#DOWN}
   */
  public static HealthCondition down(String code, String reason, String remedy) {
    return new HealthCondition(HealthLevel.DOWN, code, reason, remedy);
  }
}
