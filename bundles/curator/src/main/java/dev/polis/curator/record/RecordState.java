package dev.polis.curator.record;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import dev.polis.etcd.KeyValue;
import dev.polis.rpc.RpcException;
import java.util.Optional;

/** Holds etcd's state of one record, with its revision. */
public sealed interface RecordState {

  /** Returns etcd's revision of the last write; 0 if the record does not exist. */
  long revision();

  /** Means that the record exists and is readable. */
  record Present(long revision, MessageLite record) implements RecordState {}

  /** Means that the record does not exist. */
  record Absent() implements RecordState {
    @Override
    public long revision() {
      return 0;
    }
  }

  /** Means that the stored bytes are no record. */
  record Damaged(long revision, RpcException reason) implements RecordState {}

  /** Parses a stored key; empty if memory does not keep that record. */
  static Optional<RecordState> of(KeyValue stored) {
    return RecordKeys.parser(stored.key()).map(parser -> parsed(stored, parser));
  }

  private static RecordState parsed(KeyValue stored, Parser<? extends MessageLite> parser) {
    try {
      MessageLite record = parse(stored, parser);
      return new Present(
          stored.modRevision(),
          RecordKeys.NODES
              .extractId(stored.key())
              .<MessageLite>map(id -> NodeRecords.withId(record, id))
              .orElse(record));
    } catch (RpcException reason) {
      return new Damaged(stored.modRevision(), reason);
    }
  }

  /**
   * Parses a stored record.
   *
   * @throws RpcException DATA_LOSS if the bytes cannot be parsed; names the key
   */
  static <M> M parse(KeyValue stored, Parser<M> parser) {
    try {
      return parser.parseFrom(stored.value());
    } catch (InvalidProtocolBufferException e) {
      throw Refusal.dataLoss(
          "the record %s in etcd is damaged; restore it from a snapshot", stored.key());
    }
  }
}
