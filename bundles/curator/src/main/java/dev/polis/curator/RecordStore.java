package dev.polis.curator;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import dev.polis.etcd.Compare;
import dev.polis.etcd.KeyRange;
import dev.polis.etcd.KeyValue;
import dev.polis.etcd.KeyValues;
import dev.polis.etcd.Op;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.TrustedKeys;
import dev.polis.wire.cluster.WantedPlugins;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.curator.stored.InitialOwner;
import dev.polis.wire.curator.stored.Node;
import dev.polis.wire.curator.stored.RegisterTicket;
import java.security.SecureRandom;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * Reads and updates the records of a cluster in etcd. Reads are linearizable; updates of one record
 * are made one after the other. Thread-safe; its creator closes it, which fails the calls in
 * progress.
 */
final class RecordStore implements AutoCloseable {

  private static final int TICKET_BYTES = 32;

  private final KeyValues kv;
  private final RecordReader reader;
  private final RecordUpdater updater;

  /**
   * Creates a store.
   *
   * @param kv fenced for a leader, unfenced while a cluster is created
   */
  RecordStore(KeyValues kv) {
    this.kv = kv;
    this.reader = new RecordReader(kv);
    this.updater = new RecordUpdater(kv);
  }

  /** Returns all nodes, ordered by id. */
  List<Node> nodes() throws InterruptedException {
    return reader.read(RecordKeys.NODES.range()).nodes();
  }

  Optional<Node> node(String id) throws InterruptedException {
    return one(RecordKeys.node(id)).map(NodeRecords::parse);
  }

  Node requireNode(String id) throws InterruptedException {
    return node(id).orElseThrow(() -> noNode(id));
  }

  private static RuntimeException noNode(String id) {
    return Refusal.notFound("there is no node %s in this cluster; list them first", id);
  }

  /**
   * Updates a node's record.
   *
   * @param change gets the record and returns the new one; refuses by throwing; may run repeatedly,
   *     on another thread
   * @return the record as written
   */
  Node updateNode(String id, UnaryOperator<Node> change) throws InterruptedException {
    return updater.update(
        new RecordUpdate<>(RecordKeys.node(id), Node.class, () -> noNode(id), change));
  }

  /** Reads all nodes and the cluster's configuration at one revision. */
  RecordSnapshot nodesAndConfiguration() throws InterruptedException {
    return reader.read(RecordKeys.NODES.range(), KeyRange.single(RecordKeys.CLUSTER_CONFIGURATION));
  }

  /** Updates the cluster's configuration, as {@link #updateNode} does a node's record. */
  ClusterConfiguration updateConfiguration(UnaryOperator<ClusterConfiguration> change)
      throws InterruptedException {
    String key = RecordKeys.CLUSTER_CONFIGURATION;
    return updater.update(
        new RecordUpdate<>(
            key, ClusterConfiguration.class, () -> RecordSnapshot.missing(key), change));
  }

  /** Returns the keys whose signatures on plugins are trusted; none if none was ever added. */
  TrustedKeys trustedKeys() throws InterruptedException {
    return one(RecordKeys.TRUSTED_KEYS)
        .map(stored -> RecordState.parse(stored, TrustedKeys.parser()))
        .orElseGet(TrustedKeys::getDefaultInstance);
  }

  /** Updates the trusted keys, as {@link #updateNode} does a node's record. */
  TrustedKeys updateTrustedKeys(UnaryOperator<TrustedKeys> change) throws InterruptedException {
    return createAndUpdate(RecordKeys.TRUSTED_KEYS, TrustedKeys.class, change);
  }

  /**
   * Reads which plugins are wanted, what nodes report of theirs, and all nodes, at one revision.
   */
  PluginRecords plugins() throws InterruptedException {
    return reader.read(RecordKeys.PLUGINS.range(), RecordKeys.NODES.range()).plugins();
  }

  /** Updates which plugins are wanted, as {@link #updateNode} does a node's record. */
  WantedPlugins updateWantedPlugins(UnaryOperator<WantedPlugins> change)
      throws InterruptedException {
    return createAndUpdate(RecordKeys.WANTED_PLUGINS, WantedPlugins.class, change);
  }

  /** Updates a record that does not exist before its first update; an empty message is no bytes. */
  private <M extends MessageLite> M createAndUpdate(
      String key, Class<M> type, UnaryOperator<M> change) throws InterruptedException {
    kv.txn().when(Compare.absent(key)).then(Op.put(key, new byte[0])).commit();
    return updater.update(new RecordUpdate<>(key, type, () -> RecordSnapshot.missing(key), change));
  }

  /** Stores a node's report about its plugins in place of its former one. */
  void putPluginReport(PluginReport report) throws InterruptedException {
    String id = report.getNodeId();
    boolean stored =
        kv.txn()
            .when(Compare.present(RecordKeys.node(id)))
            .then(Op.put(RecordKeys.pluginReport(id), report.toByteArray()))
            .commit()
            .succeeded();
    if (!stored) {
      throw noNode(id);
    }
  }

  /** Deletes the report of a node that is no member any more. */
  void deletePluginReport(String id) throws InterruptedException {
    kv.txn()
        .when(Compare.absent(RecordKeys.node(id)))
        .then(Op.delete(RecordKeys.pluginReport(id)))
        .commit();
  }

  InitialOwner owner() throws InterruptedException {
    return RecordState.parse(required(RecordKeys.INITIAL_OWNER), InitialOwner.parser());
  }

  /** Returns the ticket with which nodes register; it is created by the first call. */
  ByteString registerTicket(SecureRandom random) throws InterruptedException {
    Optional<KeyValue> stored = one(RecordKeys.REGISTER_TICKET);
    if (stored.isEmpty()) {
      byte[] opaque = new byte[TICKET_BYTES];
      random.nextBytes(opaque);
      RegisterTicket ticket =
          RegisterTicket.newBuilder().setOpaque(ByteString.copyFrom(opaque)).build();
      kv.txn()
          .when(Compare.absent(RecordKeys.REGISTER_TICKET))
          .then(Op.put(RecordKeys.REGISTER_TICKET, ticket.toByteArray()))
          .commit();
    }
    return RecordState.parse(required(RecordKeys.REGISTER_TICKET), RegisterTicket.parser())
        .getOpaque();
  }

  private Optional<KeyValue> one(String key) throws InterruptedException {
    return reader.read(KeyRange.single(key)).one(key);
  }

  private KeyValue required(String key) throws InterruptedException {
    return reader.read(KeyRange.single(key)).required(key);
  }

  /** Waits until no transaction is in progress; its caller sees to it that none is begun. */
  void awaitIdle() throws InterruptedException {
    updater.awaitIdle();
    reader.awaitIdle();
  }

  @Override
  public void close() {
    reader.close();
    updater.close();
  }
}
