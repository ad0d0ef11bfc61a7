package dev.polis.curator;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import dev.polis.etcd.KeyValue;
import dev.polis.wire.cluster.TrustedKeys;
import dev.polis.wire.cluster.WantedPlugins;
import dev.polis.wire.common.ClusterConfiguration;

/** Says what etcd holds of one record, and since which revision. */
sealed interface RecordState {

  /** Returns the revision of etcd at which it was written; 0 if it does not exist. */
  long revision();

  /** The record exists and can be parsed. */
  record Present(long revision, MessageLite record) implements RecordState {}

  /** The record does not exist. */
  record Absent() implements RecordState {
    @Override
    public long revision() {
      return 0;
    }
  }

  /** The stored bytes cannot be parsed. */
  record Damaged(long revision, IllegalStateException reason) implements RecordState {}

  /**
   * Parses a record that can be updated: a node's, the trusted keys, the wanted plugins, or the
   * cluster's configuration.
   */
  static RecordState of(KeyValue stored) {
    try {
      return new Present(stored.modRevision(), parse(stored));
    } catch (IllegalStateException reason) {
      return new Damaged(stored.modRevision(), reason);
    }
  }

  private static MessageLite parse(KeyValue stored) {
    if (stored.key().equals(RecordKeys.TRUSTED_KEYS)) {
      return parse(stored, TrustedKeys.parser());
    }
    if (stored.key().equals(RecordKeys.WANTED_PLUGINS)) {
      return parse(stored, WantedPlugins.parser());
    }
    return RecordKeys.NODES.extractId(stored.key()).isPresent()
        ? NodeRecords.parse(stored)
        : parse(stored, ClusterConfiguration.parser());
  }

  /**
   * Parses a stored record.
   *
   * @throws IllegalStateException if the bytes cannot be parsed; names the key
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
