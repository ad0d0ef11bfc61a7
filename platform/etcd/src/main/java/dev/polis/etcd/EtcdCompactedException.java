package dev.polis.etcd;

/** Reports that etcd has compacted the wanted revision; the present state is still readable. */
public final class EtcdCompactedException extends EtcdException {

  private static final long serialVersionUID = 1L;

  EtcdCompactedException(String message, Throwable cause) {
    super(message, cause);
  }
}
