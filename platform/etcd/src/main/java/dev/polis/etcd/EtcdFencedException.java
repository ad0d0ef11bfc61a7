package dev.polis.etcd;

/**
 * Reports that a fence does not hold: its lock is gone or was made again. Nothing was read or
 * written; the caller is not the leader any more.
 */
public final class EtcdFencedException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdFencedException(String message, Throwable cause) {
    super(message, cause);
  }
}
