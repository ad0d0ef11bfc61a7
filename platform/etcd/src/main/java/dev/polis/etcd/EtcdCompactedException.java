package dev.polis.etcd;

/** A revision was asked for that etcd has compacted away. Read the present state instead. */
public final class EtcdCompactedException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdCompactedException(String message, Throwable cause) {
    super(message, cause);
  }
}
