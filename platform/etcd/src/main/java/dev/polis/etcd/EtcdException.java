package dev.polis.etcd;

/**
 * Reports a failure of an etcd call. The message names the endpoint, what was attempted, what etcd
 * answered and what to do next; the subclass says what may be assumed about the effect.
 */
public abstract sealed class EtcdException extends RuntimeException
    permits EtcdClosedException,
        EtcdCompactedException,
        EtcdFencedException,
        EtcdInterruptedException,
        EtcdLeaseLostException,
        EtcdOutcomeUnknownException,
        EtcdPermissionException,
        EtcdRefusedException,
        EtcdUnavailableException {

  private static final long serialVersionUID = 1L;

  EtcdException(String message, Throwable cause) {
    super(message, cause);
  }
}
