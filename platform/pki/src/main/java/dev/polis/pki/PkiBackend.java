package dev.polis.pki;

import dev.polis.base.values.Value;
import dev.polis.etcd.Compare;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyValues;
import dev.polis.etcd.Op;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Reads and writes the keys of a {@link PkiStore}. A revision is a positive number that grows with
 * every write; 0 means a missing key. Implementations are safe for any thread and pass on the
 * exceptions of their store.
 */
@ConsumerType
public interface PkiBackend {
  /**
   * Returns a backend in etcd.
   *
   * @param client follows the keys
   * @param kv reads and writes, in the same namespace as the client; a fenced one also guards each
   *     write by the fence
   * @param prefix the prefix of each key, such as {@code /cluster-pki/}
   */
  static PkiBackend etcd(EtcdClient client, KeyValues kv, String prefix) {
    return etcd(
        client,
        kv,
        prefix,
        (conditions, ops) ->
            kv.txn()
                .when(conditions.toArray(Compare[]::new))
                .then(ops.toArray(Op[]::new))
                .commit()
                .succeeded());
  }

  /**
   * Returns a backend in etcd whose changes are part of larger transactions.
   *
   * @param kv only reads
   * @param transaction makes each change
   */
  static PkiBackend etcd(EtcdClient client, KeyValues kv, String prefix, Transaction transaction) {
    return new PkiBackendEtcd(client, kv, prefix, transaction);
  }

  /** Makes changes of keys in one transaction of etcd, with others of its own. */
  @FunctionalInterface
  @ConsumerType
  interface Transaction {
    /**
     * Makes all changes if all conditions hold, else none.
     *
     * @return whether they held
     */
    boolean commit(List<Compare> conditions, List<Op> ops) throws InterruptedException;
  }

  /** Reads a key. */
  Optional<Entry> get(String key) throws InterruptedException;

  /**
   * Makes all changes in one transaction if each key is at its expected revision, else none.
   *
   * @return false if the outcome is unknown or a key had changed; the caller reads again
   */
  boolean commit(List<Change> changes) throws InterruptedException;

  /** Follows a key, and waits for a missing one. */
  Value<byte[]> follow(String key);

  /**
   * Holds the bytes of a key.
   *
   * @param value the bytes; not to be modified
   * @param revision revision of the last write
   */
  record Entry(byte[] value, long revision) {
    /** Omits the bytes, which may be a key. */
    @Override
    public String toString() {
      return "Entry[" + value.length + " bytes, revision " + revision + "]";
    }
  }

  /** Is one part of a transaction. */
  sealed interface Change {
    /** Returns the changed key. */
    String key();

    /** Returns the expected revision of the key. */
    long expected();
  }

  /**
   * Stores bytes under a key.
   *
   * @param key the key
   * @param value the bytes
   * @param expected the expected revision of the key, 0 for absent
   */
  record Put(String key, byte[] value, long expected) implements Change {
    /** Omits the bytes, which may be a key. */
    @Override
    public String toString() {
      return "Put[" + key + ", " + value.length + " bytes, expected " + expected + "]";
    }
  }

  /**
   * Fails the transaction if the key has changed, and changes nothing.
   *
   * @param key the key
   * @param expected the expected revision of the key, 0 for absent
   */
  record Require(String key, long expected) implements Change {}

  /**
   * Deletes a key.
   *
   * @param key the key
   * @param expected the expected revision of the key
   */
  record Delete(String key, long expected) implements Change {}
}
