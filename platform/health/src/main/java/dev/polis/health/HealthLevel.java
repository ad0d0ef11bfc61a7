package dev.polis.health;

/** Lists the levels of health of an organ or a role, the worst last. */
public enum HealthLevel {
  /** The organ or role works. */
  UP,
  /** The organ or role works, but something about it needs a repair. */
  DEGRADED,
  /** The organ or role does not work yet, and waits for an expected event. */
  WAITING,
  /** The organ or role does not work: something has failed, or it was stopped. */
  DOWN;

  /**
   * Compares by severity.
   *
   * @param other the level to compare with
   * @return whether this level is worse than the other
   */
  public boolean worseThan(HealthLevel other) {
    return compareTo(other) > 0;
  }

  /**
   * Returns whether the work is done, with or without a needed repair.
   *
   * @return true for {@link #UP} and {@link #DEGRADED}
   */
  public boolean works() {
    return this == UP || this == DEGRADED;
  }
}
