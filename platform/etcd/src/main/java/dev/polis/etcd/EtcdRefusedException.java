package dev.polis.etcd;

/**
 * Reports that etcd understood the request and refused it (bad argument, failed precondition, no
 * space). etcd has applied nothing; an unchanged retry does not help.
 */
public final class EtcdRefusedException extends EtcdException {

  private static final long serialVersionUID = 1L;

  private final EtcdError error;

  EtcdRefusedException(String message, EtcdError error, Throwable cause) {
    super(message, cause);
    this.error = error;
  }

  public EtcdError error() {
    return error;
  }
}
