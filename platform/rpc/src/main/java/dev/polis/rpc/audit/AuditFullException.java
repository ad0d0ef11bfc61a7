package dev.polis.rpc.audit;

import java.time.Duration;

/** Refuses a change because too many records wait for a disk that does not accept them. */
public final class AuditFullException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final Duration retryAfter;

  AuditFullException(String message, Duration retryAfter) {
    super(message);
    this.retryAfter = retryAfter;
  }

  /** Returns the delay before the next attempt to write. */
  public Duration retryAfter() {
    return retryAfter;
  }
}
