package dev.polis.handover;

import java.time.Duration;
import java.util.Set;

/**
 * Limits each wait of a swap. Waits lie inside each other. The inner one ends first, so the message
 * is that of the code that knows the cause.
 */
public enum SwapDeadline {
  /** All components and all health of the node, after the switch; {@code deadline.ms}. */
  GATE(60, "the node is well", Set.of()),
  /** The activation of a successor; {@code start.ms}. */
  START(60, "a successor is activated", Set.of()),
  /** The end of a bundle; {@code stop.ms}. */
  STOP(30, "a bundle is stopped", Set.of()),
  /**
   * A call of a followed contract while no bundle provides it. The successor of the slowest organ
   * is there within ten seconds on a machine that is busy with other things.
   */
  HOLD(30, "a call waits for a provider", Set.of(GATE)),
  /**
   * A role's run whose code is replaced. It leaves its programs to the next one, so most of this is
   * for a busy machine.
   */
  ROLE(20, "the run of a role ends for its successor", Set.of(STOP)),
  /** A hand-over that waits for another one of its organ: for a return, and a little. */
  TURN(12, "a hand-over waits for its turn", Set.of(START, STOP, HOLD)),
  /**
   * Another thread that needs a component which is being activated, such as one that stops it. It
   * is the default of Declarative Services.
   */
  COMPONENT(5, "Declarative Services wait for a component", Set.of(START, STOP, HOLD)),
  /**
   * The calls under way on a provider that was retired. The longest call that is no wait, a
   * question to etcd, is given up after as long.
   */
  DRAIN(5, "calls under way on the predecessor end", Set.of(STOP, HOLD)),
  /**
   * A state that goes back to the instance before: one prepares, the other gives, the first
   * resumes. The last of these gets what the others leave of it.
   */
  RETURN(11, "a state goes back", Set.of(TURN, STOP)),
  /** One instance that gives its state away, or takes it back. */
  HAND_OVER(4, "an instance gives its state", Set.of(COMPONENT, TURN, RETURN));

  private final Duration limit;
  private final String wait;
  private final Set<SwapDeadline> around;

  SwapDeadline(long seconds, String wait, Set<SwapDeadline> around) {
    this.limit = Duration.ofSeconds(seconds);
    this.wait = wait;
    this.around = around;
  }

  /** Returns how long the wait lasts at most, on a node that configures nothing else. */
  public Duration limit() {
    return limit;
  }

  /** Returns a description of the wait, for people. */
  public String words() {
    return wait;
  }

  /** Returns the waits that this one lies inside of. */
  public Set<SwapDeadline> around() {
    return around;
  }
}
