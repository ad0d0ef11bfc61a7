package dev.polis.curator;

import com.google.protobuf.ByteString;
import dev.polis.etcd.Compare;
import dev.polis.etcd.KeyRange;
import dev.polis.etcd.KeyValue;
import dev.polis.etcd.KeyValues;
import dev.polis.etcd.Op;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.curator.stored.InitialOwner;
import dev.polis.wire.curator.stored.Node;
import dev.polis.wire.curator.stored.RegisterTicket;
import java.security.SecureRandom;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * The records of a cluster, read and written through one way into etcd: fenced for a leader,
 * unfenced while a cluster is created. Reads are linearizable; changes of one record take place one
 * after the other. Thread-safe; whoever makes it closes it, which fails the calls under way.
 */
final class RecordStore implements AutoCloseable {

  private static final int TICKET_BYTES = 32;

  private final KeyValues kv;
  private final RecordReads reads;
  private final RecordChanges changes;

  RecordStore(KeyValues kv) {
    this.kv = kv;
    this.reads = new RecordReads(kv);
    this.changes = new RecordChanges(kv);
  }

  /** Returns all nodes, ordered by id. */
  List<Node> nodes() throws InterruptedException {
    return reads.read(RecordKeys.NODES.range()).nodes();
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
   * Changes a node's record.
   *
   * @param change gets the record and returns the new one; refuses by throwing; may run repeatedly,
   *     on another thread
   * @return the record as written
   */
  Node updateNode(String id, UnaryOperator<Node> change) throws InterruptedException {
    return changes.make(
        new RecordChange<>(RecordKeys.node(id), Node.class, () -> noNode(id), change));
  }

  /** Returns all nodes and the cluster's configuration, of one moment. */
  RecordView overview() throws InterruptedException {
    return reads.read(RecordKeys.NODES.range(), KeyRange.single(RecordKeys.CLUSTER_CONFIGURATION));
  }

  /** Changes the cluster's configuration, as {@link #updateNode} does a node's record. */
  ClusterConfiguration updateConfiguration(UnaryOperator<ClusterConfiguration> change)
      throws InterruptedException {
    String key = RecordKeys.CLUSTER_CONFIGURATION;
    return changes.make(
        new RecordChange<>(key, ClusterConfiguration.class, () -> RecordView.missing(key), change));
  }

  InitialOwner owner() throws InterruptedException {
    return RecordState.parse(required(RecordKeys.INITIAL_OWNER), InitialOwner.parser());
  }

  /** Returns the ticket with which nodes register; made at its first use. */
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
    return reads.read(KeyRange.single(key)).one(key);
  }

  private KeyValue required(String key) throws InterruptedException {
    return reads.read(KeyRange.single(key)).required(key);
  }

  @Override
  public void close() {
    reads.close();
    changes.close();
  }
}
