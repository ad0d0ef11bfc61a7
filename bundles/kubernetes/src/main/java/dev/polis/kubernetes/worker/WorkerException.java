package dev.polis.kubernetes.worker;

/** Says why this node cannot be a worker, and what to do. */
public final class WorkerException extends Exception {

  private static final long serialVersionUID = 1L;

  WorkerException(String message) {
    super(message);
  }
}
