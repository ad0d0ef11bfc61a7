package dev.polis.curator;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import dev.polis.etcd.Compare;
import dev.polis.etcd.KeyValue;
import dev.polis.etcd.KeyValues;
import dev.polis.etcd.Op;
import dev.polis.etcd.TxnResult;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.curator.stored.InitialOwner;
import dev.polis.wire.curator.stored.Node;
import dev.polis.wire.curator.stored.RegisterTicket;
import java.security.SecureRandom;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.UnaryOperator;

/**
 * The records of a cluster, read and written through one way into etcd: fenced for a leader,
 * unfenced while a cluster is created. Thread-safe; a change that meets another one is repeated on
 * what that one left.
 */
final class RecordStore {

  /** Two operators seldom change one record at once; after this many times something is wrong. */
  private static final int ATTEMPTS = 16;

  private static final int TICKET_BYTES = 32;

  private final KeyValues kv;

  /**
   * Changes take turns here rather than collide in etcd, where each collision costs two round
   * trips. There are few records, and only the leader changes them.
   */
  private final ReentrantLock changes = new ReentrantLock(true);

  RecordStore(KeyValues kv) {
    this.kv = kv;
  }

  /** Returns all nodes, ordered by id. */
  List<Node> nodes() throws InterruptedException {
    return kv.range(RecordKeys.NODES.range()).keys().stream().map(NodeRecords::parse).toList();
  }

  Optional<Node> node(String id) throws InterruptedException {
    return kv.get(RecordKeys.node(id)).map(NodeRecords::parse);
  }

  Node requireNode(String id) throws InterruptedException {
    return node(id)
        .orElseThrow(
            () -> Refusal.notFound("there is no node %s in this cluster; list them first", id));
  }

  /**
   * Changes a node's record.
   *
   * @param change gets the record and returns the new one; refuses by throwing; may run repeatedly
   * @return the record as written
   */
  Node updateNode(String id, UnaryOperator<Node> change) throws InterruptedException {
    changes.lockInterruptibly();
    try {
      return changeNode(id, change);
    } finally {
      changes.unlock();
    }
  }

  private Node changeNode(String id, UnaryOperator<Node> change) throws InterruptedException {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      KeyValue stored =
          kv.get(RecordKeys.node(id))
              .orElseThrow(
                  () ->
                      Refusal.notFound("there is no node %s in this cluster; list them first", id));
      Node before = NodeRecords.parse(stored);
      Node after = change.apply(before);
      if (after.equals(before)) {
        return before;
      }
      if (replace(stored, after)) {
        return after;
      }
    }
    throw contended(RecordKeys.node(id));
  }

  ClusterConfiguration configuration() throws InterruptedException {
    return parse(required(RecordKeys.CLUSTER_CONFIGURATION), ClusterConfiguration.parser());
  }

  ClusterConfiguration updateConfiguration(UnaryOperator<ClusterConfiguration> change)
      throws InterruptedException {
    changes.lockInterruptibly();
    try {
      return changeConfiguration(change);
    } finally {
      changes.unlock();
    }
  }

  private ClusterConfiguration changeConfiguration(UnaryOperator<ClusterConfiguration> change)
      throws InterruptedException {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      KeyValue stored = required(RecordKeys.CLUSTER_CONFIGURATION);
      ClusterConfiguration before = parse(stored, ClusterConfiguration.parser());
      ClusterConfiguration after = change.apply(before);
      if (after.equals(before) || replace(stored, after)) {
        return after;
      }
    }
    throw contended(RecordKeys.CLUSTER_CONFIGURATION);
  }

  InitialOwner owner() throws InterruptedException {
    return parse(required(RecordKeys.INITIAL_OWNER), InitialOwner.parser());
  }

  /** Returns the ticket with which nodes register; made at its first use. */
  ByteString registerTicket(SecureRandom random) throws InterruptedException {
    Optional<KeyValue> stored = kv.get(RecordKeys.REGISTER_TICKET);
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
    return parse(required(RecordKeys.REGISTER_TICKET), RegisterTicket.parser()).getOpaque();
  }

  private boolean replace(KeyValue stored, MessageLite after) throws InterruptedException {
    TxnResult result =
        kv.txn()
            .when(Compare.unchanged(stored))
            .then(Op.put(stored.key(), after.toByteArray()))
            .commit();
    return result.succeeded();
  }

  private KeyValue required(String key) throws InterruptedException {
    return kv.get(key)
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "%s is missing in etcd, so this is no whole cluster; restore it from a snapshot"
                        .formatted(key)));
  }

  private static <M> M parse(KeyValue stored, Parser<M> parser) {
    try {
      return parser.parseFrom(stored.value());
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(
          "the record %s in etcd is damaged (%s); restore it from a snapshot"
              .formatted(stored.key(), e.getMessage()),
          e);
    }
  }

  private static RuntimeException contended(String key) {
    return Refusal.aborted(
        "%s was changed by others %d times while this call tried to; try again", key, ATTEMPTS);
  }
}
