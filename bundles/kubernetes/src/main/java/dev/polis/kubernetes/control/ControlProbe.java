package dev.polis.kubernetes.control;

/** Asks one of Kubernetes' programs how it is. */
public interface ControlProbe {

  /** Returns whether it does its work. */
  boolean ready() throws InterruptedException;

  /** Returns whether it answers at all, even if its dependencies do not. */
  boolean alive() throws InterruptedException;

  /** Returns a message that names a failed dependency of the program; empty if none is known. */
  default String missing() throws InterruptedException {
    return "";
  }
}
