package dev.polis.etcd;

/**
 * Reports that a fence does not hold: its lock is gone or was made again. The transaction had no
 * effect; the caller is no longer the leader.
 */
public final class EtcdFencedException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdFencedException(String message, Throwable cause) {
    super(message, cause);
  }
}
