package dev.polis.etcd;

/**
 * Reports that no endpoint answered within the deadline. Nothing was applied: for writes, the
 * request is known not to have been carried out.
 */
public final class EtcdUnavailableException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdUnavailableException(String message, Throwable cause) {
    super(message, cause);
  }
}
