package dev.polis.kubernetes.worker;

import java.time.Instant;

/**
 * Holds the reason why a Pod of this node cannot start, if the node is the cause.
 *
 * @param reason the cause for an operator; the same for all Pods with the same cause
 * @param message the message of Kubernetes
 * @param since the time when the scheduler assigned the Pod to this node
 * @param remedy the remedy
 */
record StuckPod(
    String namespace, String name, String reason, String message, Instant since, String remedy) {

  /** Returns how people name it. */
  String title() {
    return namespace + "/" + name;
  }
}
