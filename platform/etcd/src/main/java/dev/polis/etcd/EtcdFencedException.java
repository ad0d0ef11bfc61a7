package dev.polis.etcd;

/**
 * A fence no longer held: the lock it names is gone or belongs to a later life. Nothing was read or
 * written; the caller is not the leader any more.
 */
public final class EtcdFencedException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdFencedException(String message, Throwable cause) {
    super(message, cause);
  }
}
