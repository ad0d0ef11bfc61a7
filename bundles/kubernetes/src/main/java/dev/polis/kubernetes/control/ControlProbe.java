package dev.polis.kubernetes.control;

/** Checks the health of one of Kubernetes' programs. */
public interface ControlProbe {

  /** Returns whether the program does its work. */
  boolean ready() throws InterruptedException;

  /** Returns whether the program answers, even if its dependencies do not. */
  boolean alive() throws InterruptedException;

  /**
   * Returns a message about a failed dependency or a faulty answer of the program; empty if none is
   * known.
   */
  default String missing() throws InterruptedException {
    return "";
  }
}
