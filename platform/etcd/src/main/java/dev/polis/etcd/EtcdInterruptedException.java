package dev.polis.etcd;

/**
 * Reports that the waiting thread was interrupted inside a method that cannot declare it. It sets
 * the interrupt flag again.
 */
public final class EtcdInterruptedException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdInterruptedException(String message, Throwable cause) {
    super(message, cause);
  }
}
