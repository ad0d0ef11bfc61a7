package dev.polis.pki;

import dev.polis.base.values.Value;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyValues;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Reads and writes the keys of a {@link PkiStore}. A revision is a positive number that grows with
 * every write; 0 stands for "there is no such key". Implementations are safe for any thread and
 * throw what their store throws.
 */
@ConsumerType
public interface PkiBackend {
  /**
   * Returns a backend in etcd.
   *
   * @param client for following keys
   * @param kv for reading and writing, in the same namespace as the client; a fenced one guards
   *     every write by the fence as well
   * @param prefix put before every key, such as {@code /cluster-pki/}
   */
  static PkiBackend etcd(EtcdClient client, KeyValues kv, String prefix) {
    return new PkiBackendEtcd(client, kv, prefix);
  }

  /** Reads a key. */
  Optional<Entry> get(String key) throws InterruptedException;

  /**
   * Carries out all changes in one transaction if every changed key is still at the revision that
   * its change expects, else none.
   *
   * @return false if nothing is known to be done: a key had changed, or no answer came; the caller
   *     reads again
   */
  boolean commit(List<Change> changes) throws InterruptedException;

  /** Follows a key; a missing one is waited for. */
  Value<byte[]> follow(String key);

  /**
   * Holds what is stored under a key.
   *
   * @param value the bytes; not to be modified
   * @param revision revision of the last write
   */
  record Entry(byte[] value, long revision) {
    /** Leaves out the bytes, which may be a key. */
    @Override
    public String toString() {
      return "Entry[" + value.length + " bytes, revision " + revision + "]";
    }
  }

  /** Is one part of a transaction. */
  sealed interface Change {
    /** Returns the key that is changed. */
    String key();

    /** Returns the revision that the key must be at. */
    long expected();
  }

  /**
   * Stores bytes.
   *
   * @param key where
   * @param value what
   * @param expected revision that the key must be at, 0 for absent
   */
  record Put(String key, byte[] value, long expected) implements Change {
    /** Leaves out the bytes, which may be a key. */
    @Override
    public String toString() {
      return "Put[" + key + ", " + value.length + " bytes, expected " + expected + "]";
    }
  }

  /**
   * Changes nothing, but fails the transaction if the key has changed.
   *
   * @param key which
   * @param expected revision that the key must be at, 0 for absent
   */
  record Require(String key, long expected) implements Change {}

  /**
   * Deletes a key.
   *
   * @param key which
   * @param expected revision that the key must be at
   */
  record Delete(String key, long expected) implements Change {}
}
