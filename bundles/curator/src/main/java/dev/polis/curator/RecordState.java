package dev.polis.curator;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import dev.polis.etcd.KeyValue;
import dev.polis.wire.common.ClusterConfiguration;

/** What is known of a record: from when it is, and what it says. */
sealed interface RecordState {

  /** The revision of etcd at which it was written; 0 if there is none. */
  long revision();

  /** A record that can be read. */
  record Present(long revision, MessageLite record) implements RecordState {}

  /** There is no such record. */
  record Absent() implements RecordState {
    @Override
    public long revision() {
      return 0;
    }
  }

  /** What is stored is no record. */
  record Damaged(long revision, IllegalStateException reason) implements RecordState {}

  /** Reads a record that can be changed: a node's, or the cluster's configuration. */
  static RecordState of(KeyValue stored) {
    try {
      return new Present(stored.modRevision(), parse(stored));
    } catch (IllegalStateException reason) {
      return new Damaged(stored.modRevision(), reason);
    }
  }

  private static MessageLite parse(KeyValue stored) {
    return RecordKeys.NODES.extractId(stored.key()).isPresent()
        ? NodeRecords.parse(stored)
        : parse(stored, ClusterConfiguration.parser());
  }

  /**
   * Reads a stored record.
   *
   * @throws IllegalStateException if the bytes are no such record; names the key
   */
  static <M> M parse(KeyValue stored, Parser<M> parser) {
    try {
      return parser.parseFrom(stored.value());
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(
          "the record %s in etcd is damaged (%s); restore it from a snapshot"
              .formatted(stored.key(), e.getMessage()),
          e);
    }
  }
}
