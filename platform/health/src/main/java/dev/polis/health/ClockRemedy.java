package dev.polis.health;

/** Says how a person sets a wrong clock. The keeper of the clock depends on the machine. */
public final class ClockRemedy {

  /** The ways to set the clock, as a clause for a verb. */
  public static final String WAYS =
      "timedatectl set-ntp true, or date -u -s TIME; on a machine that an image of Polis has booted, name time servers, which set it at the next start: polisctl config set dev.polis.network.time.servers=NAME,NAME, or for a new node polisctl params make --time-server NAME";

  /** The remedy for a clock that is wrong. */
  public static final String SET = "set the clock: " + WAYS;

  private ClockRemedy() {}
}
