package dev.polis.etcd;

/**
 * Reports a failure of an etcd call. The message names the endpoint, the action, etcd's answer and
 * the remedy; the subclass defines what a caller may assume about the effect.
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
