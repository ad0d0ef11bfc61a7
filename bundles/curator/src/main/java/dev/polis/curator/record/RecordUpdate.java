package dev.polis.curator.record;

import com.google.protobuf.MessageLite;
import dev.polis.rpc.RpcException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Holds one caller's change of one record. The caller gets the outcome only after it is certain
 * that the record on which the change was computed was the present one. For the thread of the
 * batcher only.
 *
 * @param <M> the type of the record
 */
final class RecordUpdate<M extends MessageLite> extends RequestBatcher.Request<Optional<M>> {

  /**
   * Computes a new record.
   *
   * @param <M> the type of the record
   */
  @FunctionalInterface
  interface Change<M> {
    /**
     * Returns the new record from the present one; empty stands for none. Refuses by throwing; may
     * run repeatedly.
     *
     * @param other the state of the other record that decides about the change
     */
    Optional<M> apply(Optional<M> record, RecordState other);
  }

  private final String key;
  private final String other;
  private final Class<M> type;
  private final Change<M> change;
  private Runnable outcome =
      () ->
          fail(new IllegalStateException("the caller confirmed the update before it was computed"));

  /**
   * Creates an update.
   *
   * @param other key of another record that decides about the change, which must not change
   *     meanwhile; the same key if there is none
   */
  RecordUpdate(String key, String other, Class<M> type, Change<M> change) {
    this.key = key;
    this.other = other;
    this.type = type;
    this.change = change;
  }

  /** Returns the keys of the records that the outcome depends on. */
  List<String> keys() {
    return key.equals(other) ? List.of(key) : List.of(key, other);
  }

  /** Computes the change, and puts the new state in place of the old one if it differs. */
  void apply(Map<String, RecordState> states) {
    RecordState before = states.get(key);
    try {
      Optional<M> old = record(before);
      Optional<M> updated = change.apply(old, states.get(other));
      outcome = () -> answer(updated);
      if (!updated.equals(old)) {
        states.put(key, state(before.revision(), updated));
      }
    } catch (Throwable refusal) {
      // Whatever it is, only this caller of the batch gets it.
      outcome = () -> fail(refusal);
    }
  }

  private static RecordState state(long revision, Optional<? extends MessageLite> record) {
    return record
        .<RecordState>map(present -> new RecordState.Present(revision, present))
        .orElseGet(RecordState.Absent::new);
  }

  private Optional<M> record(RecordState state) {
    return switch (state) {
      case RecordState.Present(long revision, MessageLite record) -> Optional.of(type.cast(record));
      case RecordState.Absent() -> Optional.empty();
      case RecordState.Damaged(long revision, RpcException reason) -> throw reason;
    };
  }

  /** Gives the caller the outcome of the last computation. */
  void confirm() {
    outcome.run();
  }
}
