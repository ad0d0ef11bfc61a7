package dev.polis.etcd;

/** Reports that no endpoint answered within the deadline. No write was applied. */
public final class EtcdUnavailableException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdUnavailableException(String message, Throwable cause) {
    super(message, cause);
  }
}
