package dev.polis.etcd;

/** Describes one step of a transaction. */
public sealed interface Op {

  /** Stores {@code value} with {@code lease}; 0 means no lease. */
  record Put(String key, byte[] value, long lease) implements Op {}

  record Delete(KeyRange range) implements Op {}

  record Get(KeyRange range) implements Op {}

  static Op put(String key, byte[] value) {
    return new Put(key, value, 0);
  }

  static Op put(String key, byte[] value, Lease lease) {
    return new Put(key, value, lease.id());
  }

  static Op delete(String key) {
    return new Delete(KeyRange.single(key));
  }

  static Op delete(KeyRange range) {
    return new Delete(range);
  }

  static Op get(String key) {
    return new Get(KeyRange.single(key));
  }

  static Op get(KeyRange range) {
    return new Get(range);
  }
}
