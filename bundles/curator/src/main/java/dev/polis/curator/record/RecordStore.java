package dev.polis.curator.record;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import dev.polis.etcd.KeyValues;
import dev.polis.rpc.RpcException;
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
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * Reads and updates the records of a cluster. Reads are linearizable; it makes updates of one
 * record one after the other. Thread-safe; its creator closes it, which fails the calls in
 * progress.
 */
public final class RecordStore implements AutoCloseable {

  private static final int TICKET_BYTES = 32;

  private final RecordReader reader;
  private final RecordUpdater updater;

  /**
   * Creates a store that reads each time from etcd.
   *
   * @param kv the keys, fenced for a leader, unfenced during the creation of a cluster
   */
  public RecordStore(KeyValues kv) {
    this(kv, new RecordMemory(damage -> {}), () -> false);
  }

  /**
   * Creates the store of a leader, which reads from memory.
   *
   * @param kv the fenced keys
   * @param memory the memory, which a watch of the same records fills
   * @param leads returns whether this node certainly leads
   */
  public RecordStore(KeyValues kv, RecordMemory memory, BooleanSupplier leads) {
    this.reader = new RecordReader(kv, memory, leads);
    this.updater = new RecordUpdater(kv, memory, reader);
  }

  /** Returns all records, with each acknowledged change. */
  public RecordSnapshot read() throws InterruptedException {
    return reader.read();
  }

  /** Returns the same without a wait; empty if only etcd can answer. */
  public Optional<RecordSnapshot> readAtOnce() {
    return reader.atOnce();
  }

  /** Waits until memory has each acknowledged change. Then a follower of memory is up to date. */
  public void complete() throws InterruptedException {
    if (!reader.isCertain()) {
      reader.list();
    }
  }

  /** Returns the nodes with undamaged records, ordered by id. */
  public List<Node> nodes() throws InterruptedException {
    return read().nodes();
  }

  public Optional<Node> node(String id) throws InterruptedException {
    return read().find(RecordKeys.node(id), Node.class);
  }

  public Node requireNode(String id) throws InterruptedException {
    return node(id).orElseThrow(() -> noNode(id));
  }

  private static RpcException noNode(String id) {
    return Refusal.notFound("there is no node %s in this cluster; list them first", id);
  }

  /**
   * Updates a node's record.
   *
   * @param change makes the new record from the present one; refuses with an exception; may run
   *     repeatedly, on another thread
   * @return the record as written
   */
  public Node updateNode(String id, UnaryOperator<Node> change) throws InterruptedException {
    return update(RecordKeys.node(id), Node.class, () -> noNode(id), change);
  }

  /** Updates the cluster's configuration, as {@link #updateNode} does a node's record. */
  public ClusterConfiguration updateConfiguration(UnaryOperator<ClusterConfiguration> change)
      throws InterruptedException {
    String key = RecordKeys.CLUSTER_CONFIGURATION;
    return update(key, ClusterConfiguration.class, () -> RecordSnapshot.missing(key), change);
  }

  private <M extends MessageLite> M update(
      String key, Class<M> type, Supplier<RpcException> missing, UnaryOperator<M> change)
      throws InterruptedException {
    return updater
        .update(
            new RecordUpdate<>(
                key,
                key,
                type,
                (record, same) -> Optional.of(change.apply(record.orElseThrow(missing)))))
        .orElseThrow();
  }

  /** Returns the trusted keys for signatures on plugins; empty before the first one. */
  public TrustedKeys trustedKeys() throws InterruptedException {
    return read()
        .find(RecordKeys.TRUSTED_KEYS, TrustedKeys.class)
        .orElseGet(TrustedKeys::getDefaultInstance);
  }

  /** Updates the trusted keys, as {@link #updateNode} does a node's record. */
  public TrustedKeys updateTrustedKeys(UnaryOperator<TrustedKeys> change)
      throws InterruptedException {
    return createOrUpdate(
        RecordKeys.TRUSTED_KEYS, TrustedKeys.class, TrustedKeys.getDefaultInstance(), change);
  }

  /** Reads the wanted plugins, the nodes' reports, and all nodes. */
  public PluginRecords plugins() throws InterruptedException {
    return read().plugins();
  }

  /** Updates the wanted plugins, as {@link #updateNode} does a node's record. */
  public WantedPlugins updateWantedPlugins(UnaryOperator<WantedPlugins> change)
      throws InterruptedException {
    return createOrUpdate(
        RecordKeys.WANTED_PLUGINS, WantedPlugins.class, WantedPlugins.getDefaultInstance(), change);
  }

  /** Updates a record, which the first update creates. */
  private <M extends MessageLite> M createOrUpdate(
      String key, Class<M> type, M first, UnaryOperator<M> change) throws InterruptedException {
    return updater
        .update(
            new RecordUpdate<>(
                key, key, type, (record, same) -> Optional.of(change.apply(record.orElse(first)))))
        .orElseThrow();
  }

  /** Stores a node's report about its plugins, in place of the former one. */
  public void putPluginReport(PluginReport report) throws InterruptedException {
    String id = report.getNodeId();
    updater.update(
        new RecordUpdate<>(
            RecordKeys.pluginReport(id),
            RecordKeys.node(id),
            PluginReport.class,
            (former, node) -> {
              if (node instanceof RecordState.Absent) {
                throw noNode(id);
              }
              return Optional.of(report);
            }));
  }

  /** Deletes the report of a node that is no member. */
  public void deletePluginReport(String id) throws InterruptedException {
    updater.update(
        new RecordUpdate<>(
            RecordKeys.pluginReport(id),
            RecordKeys.node(id),
            PluginReport.class,
            (report, node) -> node instanceof RecordState.Absent ? Optional.empty() : report));
  }

  public InitialOwner owner() throws InterruptedException {
    return read().require(RecordKeys.INITIAL_OWNER, InitialOwner.class);
  }

  /** Returns the ticket for registrations, which the first call creates. */
  public ByteString registerTicket(SecureRandom random) throws InterruptedException {
    String key = RecordKeys.REGISTER_TICKET;
    Optional<RegisterTicket> stored = read().find(key, RegisterTicket.class);
    if (stored.isPresent()) {
      return stored.get().getOpaque();
    }
    byte[] opaque = new byte[TICKET_BYTES];
    random.nextBytes(opaque);
    RegisterTicket created =
        RegisterTicket.newBuilder().setOpaque(ByteString.copyFrom(opaque)).build();
    return createOrUpdate(
            key,
            RegisterTicket.class,
            RegisterTicket.getDefaultInstance(),
            present -> present.getOpaque().isEmpty() ? created : present)
        .getOpaque();
  }

  /** Waits until no transaction is in progress; the caller prevents new ones. */
  public void awaitIdle() throws InterruptedException {
    updater.awaitIdle();
    reader.awaitIdle();
  }

  @Override
  public void close() {
    reader.close();
    updater.close();
  }
}
