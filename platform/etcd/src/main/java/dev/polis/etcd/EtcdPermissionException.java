package dev.polis.etcd;

/**
 * Reports that etcd denies the key or the operation to this user, or refuses the user of the
 * certificate.
 */
public final class EtcdPermissionException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdPermissionException(String message, Throwable cause) {
    super(message, cause);
  }
}
