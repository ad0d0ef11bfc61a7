package dev.polis.etcd;

/**
 * Reports that a write was sent and not answered: etcd may have applied it. The client never
 * retries it; read the key again to learn the outcome.
 */
public final class EtcdOutcomeUnknownException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdOutcomeUnknownException(String message, Throwable cause) {
    super(message, cause);
  }
}
