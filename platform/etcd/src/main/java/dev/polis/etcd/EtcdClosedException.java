package dev.polis.etcd;

/** The client, or the watcher, lease or election that was used, has been closed by its owner. */
public final class EtcdClosedException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdClosedException(String message, Throwable cause) {
    super(message, cause);
  }
}
