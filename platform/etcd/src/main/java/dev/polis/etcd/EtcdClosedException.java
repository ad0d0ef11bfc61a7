package dev.polis.etcd;

/** Reports the use of a client, watcher, lease or election that its owner has closed. */
public final class EtcdClosedException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdClosedException(String message, Throwable cause) {
    super(message, cause);
  }
}
