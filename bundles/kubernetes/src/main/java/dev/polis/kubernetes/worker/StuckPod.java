package dev.polis.kubernetes.worker;

import java.time.Instant;

/**
 * Holds the reason why a Pod of this node cannot start, if the node is the cause.
 *
 * @param reason what hinders it, in plain words; the same for all Pods with the same cause
 * @param message what Kubernetes says of it
 * @param since when the Pod was given to this node
 * @param remedy what to do about it; empty if that follows from the reason alone
 */
record StuckPod(
    String namespace, String name, String reason, String message, Instant since, String remedy) {

  /** Returns how people name it. */
  String title() {
    return namespace + "/" + name;
  }
}
