package dev.polis.health;

import dev.polis.base.boot.FailureText;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Describes one fact about the health of an organ or a role.
 *
 * @param level the severity; {@link HealthLevel#UP} for a fact that is only worth showing
 * @param code a stable name for programs, in kebab-case, such as {@code no-recovery-share}
 * @param reason the fact in one sentence for people; never blank
 * @param remedy the remedy for a person; empty if there is none, or if it follows from the reason
 *     alone: then the health table finds it
 * @param dueTo the organs and roles that cause it; its own organ's name if it is itself the root;
 *     empty if the needs of the organ decide
 */
public record HealthCondition(
    HealthLevel level, String code, String reason, String remedy, Set<String> dueTo) {
  private static final Pattern KEBAB_CASE = Pattern.compile("[a-z0-9]+(-[a-z0-9]+)*");

  /** Refuses a code that is not kebab-case, and a blank reason; cuts long texts. */
  public HealthCondition {
    Objects.requireNonNull(level, "level");
    remedy = FailureText.shortened(remedy);
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

  /** Creates a condition whose causes follow from the needs of the organ. */
  public HealthCondition(HealthLevel level, String code, String reason, String remedy) {
    this(level, code, reason, remedy, Set.of());
  }

  /**
   * Returns the same condition with its causes.
   *
   * @param names the organs and roles that cause it; the name of its own organ makes this one the
   *     root
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
   * @param other the remedy for a person
   * @return a copy
   */
  HealthCondition withRemedy(String other) {
    return new HealthCondition(level, code, reason, other, dueTo);
  }

  /**
   * Creates a fact that is worth showing although all is well.
   *
   * @param code a stable name, in kebab-case
   * @param reason the fact, for people
   * @return a condition of level {@link HealthLevel#UP}
   */
  public static HealthCondition up(String code, String reason) {
    return new HealthCondition(HealthLevel.UP, code, reason, "");
  }

  /**
   * Creates a fact that needs a repair although the work is done.
   *
   * @param code a stable name, in kebab-case
   * @param reason the fact, for people
   * @param remedy the remedy; empty if there is none
   * @return a condition of level {@link HealthLevel#DEGRADED}
   */
  public static HealthCondition degraded(String code, String reason, String remedy) {
    return new HealthCondition(HealthLevel.DEGRADED, code, reason, remedy);
  }

  /**
   * Creates a fact about the event for which the work waits.
   *
   * @param code a stable name, in kebab-case
   * @param reason the fact, for people
   * @return a condition of level {@link HealthLevel#WAITING}
   */
  public static HealthCondition waiting(String code, String reason) {
    return new HealthCondition(HealthLevel.WAITING, code, reason, "");
  }

  /**
   * Creates a fact about the reason why the work is not done.
   *
   * @param code a stable name, in kebab-case
   * @param reason the fact, for people
   * @param remedy the remedy; empty if there is none
   * @return a condition of level {@link HealthLevel#DOWN}
   */
  public static HealthCondition down(String code, String reason, String remedy) {
    return new HealthCondition(HealthLevel.DOWN, code, reason, remedy);
  }
}
