package dev.polis.etcd;

/**
 * etcd knows the caller and denies the key or the operation, or does not accept the certificate's
 * user.
 */
public final class EtcdPermissionException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdPermissionException(String message, Throwable cause) {
    super(message, cause);
  }
}
