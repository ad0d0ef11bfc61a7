package dev.polis.etcd;

/** Reports that the lease has expired, was revoked, or cannot be shown to be alive. */
public final class EtcdLeaseLostException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdLeaseLostException(String message, Throwable cause) {
    super(message, cause);
  }
}
