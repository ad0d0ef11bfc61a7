package dev.polis.etcd;

/** Reports that the lease has expired, was revoked, or is not certainly alive. */
public final class EtcdLeaseLostException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdLeaseLostException(String message, Throwable cause) {
    super(message, cause);
  }
}
