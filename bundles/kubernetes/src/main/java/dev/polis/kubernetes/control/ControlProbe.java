package dev.polis.kubernetes.control;

/** Asks one of Kubernetes' programs how it is. */
public interface ControlProbe {

  /** Returns whether it does its work. */
  boolean ready() throws InterruptedException;

  /** Returns whether it answers at all, even if its dependencies do not. */
  boolean alive() throws InterruptedException;

  /**
   * Returns a message that names what the program needs and does not work, or what is wrong with
   * its answer; empty if nothing is known.
   */
  default String missing() throws InterruptedException {
    return "";
  }
}
