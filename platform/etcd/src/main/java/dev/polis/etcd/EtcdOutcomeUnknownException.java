package dev.polis.etcd;

/**
 * Reports that a write was sent and not answered: it may or may not have been applied. It is never
 * retried here; read the key again to find out.
 */
public final class EtcdOutcomeUnknownException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdOutcomeUnknownException(String message, Throwable cause) {
    super(message, cause);
  }
}
