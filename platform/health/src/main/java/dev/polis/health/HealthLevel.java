package dev.polis.health;

/** How well an organ or a role does its work. The order is that of severity: the worst is last. */
public enum HealthLevel {
  /** It does its work. */
  UP,
  /** It does its work, but something about it should be repaired. */
  DEGRADED,
  /** It does not do its work yet: it waits for something that is expected to come. */
  WAITING,
  /** It does not do its work: something has failed, or it was stopped. */
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
   * Returns whether the work is done, well or with something to repair.
   *
   * @return true for {@link #UP} and {@link #DEGRADED}
   */
  public boolean works() {
    return this == UP || this == DEGRADED;
  }
}
