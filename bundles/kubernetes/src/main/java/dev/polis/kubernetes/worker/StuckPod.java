package dev.polis.kubernetes.worker;

import java.time.Instant;

/**
 * Holds the cause that prevents a Pod from starting, if it is this node.
 *
 * @param reason the cause for people; the same for all Pods with the same cause
 * @param message the message of Kubernetes
 * @param since the time at which the Pod was assigned to this node
 * @param remedy the remedy; empty if it follows from the reason alone
 */
record StuckPod(
    String namespace, String name, String reason, String message, Instant since, String remedy) {

  /** Returns the Pod's name for people. */
  String title() {
    return namespace + "/" + name;
  }
}
