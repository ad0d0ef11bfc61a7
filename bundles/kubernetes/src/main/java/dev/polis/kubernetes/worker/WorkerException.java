package dev.polis.kubernetes.worker;

/** Reports the reason why this node cannot be a worker, with a remedy. */
public final class WorkerException extends Exception {

  private static final long serialVersionUID = 1L;

  WorkerException(String message) {
    super(message);
  }
}
