package dev.polis.etcd;

/**
 * etcd understood the request and refused it (bad argument, failed precondition, no space). Nothing
 * was applied; trying again unchanged does not help.
 */
public final class EtcdRefusedException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdRefusedException(String message, Throwable cause) {
    super(message, cause);
  }
}
