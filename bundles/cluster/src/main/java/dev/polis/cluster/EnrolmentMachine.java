package dev.polis.cluster;

import dev.polis.api.cluster.EnrolmentException;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.logtree.Log;

/** Holds the manager's state machine, which runs once and never goes back. Thread-safe. */
final class EnrolmentMachine {

  /** Holds the phase of the machine, and the reason of a failure. */
  record Standing(EnrolmentPhase phase, String reason) {}

  private final Log log;
  private final MutableValue<Standing> standing =
      new MutableValue<>(new Standing(EnrolmentPhase.NEW, "not started"));
  private boolean started;

  EnrolmentMachine(Log log) {
    this.log = log;
  }

  Value<Standing> standing() {
    return standing;
  }

  EnrolmentPhase phase() {
    return standing.peek().orElseThrow().phase();
  }

  /**
   * Marks the only run of this machine.
   *
   * @throws EnrolmentException on the second call; the machine then fails unless it is done
   */
  synchronized void start() {
    if (started) {
      String refusal = "cannot restart cluster manager: it ran before and is " + phase();
      if (!phase().isTerminal()) {
        standing.set(new Standing(EnrolmentPhase.FAILED, refusal));
      }
      log.error("%s", refusal);
      throw new EnrolmentException(refusal + "; restart the node");
    }
    started = true;
  }

  /** Moves to the last phase of another instance's machine, in which the node is a member. */
  synchronized void goOn(String reason) {
    log.info("cluster manager: %s -> %s (%s)", phase(), EnrolmentPhase.RUNNING, reason);
    started = true;
    standing.set(new Standing(EnrolmentPhase.RUNNING, reason));
  }

  /**
   * Moves to a phase.
   *
   * @throws EnrolmentException if the phase is no successor of the present one; the machine then
   *     fails
   */
  synchronized void transition(EnrolmentPhase to, String reason) {
    EnrolmentPhase from = phase();
    if (!from.successors().contains(to)) {
      String refusal =
          "illegal transition of the cluster manager from %s to %s".formatted(from, to);
      log.error("%s", refusal);
      standing.set(new Standing(EnrolmentPhase.FAILED, refusal));
      throw new EnrolmentException(refusal);
    }
    log.info("cluster manager: %s -> %s (%s)", from, to, reason);
    standing.set(new Standing(to, reason));
  }

  /** Fails the machine, in each phase and for each error of a handler. */
  synchronized void fail(String reason) {
    log.error("cluster manager: %s -> %s (%s)", phase(), EnrolmentPhase.FAILED, reason);
    standing.set(new Standing(EnrolmentPhase.FAILED, reason));
  }
}
