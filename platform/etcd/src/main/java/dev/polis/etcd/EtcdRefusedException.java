package dev.polis.etcd;

/**
 * Reports that etcd understood the request and refused it (bad argument, failed precondition, no
 * space). etcd has applied nothing; trying again unchanged does not help.
 */
public final class EtcdRefusedException extends EtcdException {

  private static final long serialVersionUID = 1L;

  private final EtcdError error;

  EtcdRefusedException(String message, EtcdError error, Throwable cause) {
    super(message, cause);
    this.error = error;
  }

  /** Returns which of the known errors it was. */
  public EtcdError error() {
    return error;
  }
}
