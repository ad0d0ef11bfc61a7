package dev.polis.curator;

import com.google.protobuf.MessageLite;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * Holds one caller's change of one record. The caller gets the outcome only after etcd has
 * confirmed the record on which the change was computed. For the thread of the batcher only.
 *
 * @param <M> the type of the record
 */
final class RecordUpdate<M extends MessageLite> extends RequestBatcher.Request<M> {

  private final String key;
  private final Class<M> type;
  private final Supplier<RuntimeException> missing;
  private final UnaryOperator<M> change;
  private Runnable outcome =
      () -> fail(new IllegalStateException("the update was confirmed before it was computed"));

  /**
   * Creates an update.
   *
   * @param missing makes the exception for a record that does not exist
   * @param change gets the record and returns the new one; refuses by throwing; may run repeatedly
   */
  RecordUpdate(
      String key, Class<M> type, Supplier<RuntimeException> missing, UnaryOperator<M> change) {
    this.key = key;
    this.type = type;
    this.missing = missing;
    this.change = change;
  }

  String key() {
    return key;
  }

  /** Computes the change and returns the new state, or the given one if nothing changes. */
  RecordState apply(RecordState before) {
    try {
      M old = type.cast(record(before));
      M updated = change.apply(old);
      outcome = () -> answer(updated);
      return updated.equals(old) ? before : new RecordState.Present(before.revision(), updated);
    } catch (RuntimeException refusal) {
      outcome = () -> fail(refusal);
      return before;
    }
  }

  private MessageLite record(RecordState state) {
    return switch (state) {
      case RecordState.Present(long revision, MessageLite record) -> record;
      case RecordState.Absent() -> throw missing.get();
      case RecordState.Damaged(long revision, IllegalStateException reason) -> throw reason;
    };
  }

  /** Gives the caller the outcome that was computed last. */
  void confirm() {
    outcome.run();
  }
}
