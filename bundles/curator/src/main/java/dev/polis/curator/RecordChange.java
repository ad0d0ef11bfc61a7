package dev.polis.curator;

import com.google.protobuf.MessageLite;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * One caller's change of one record. What comes of it is told to the caller only once the records
 * on which it was tried are known to be those in etcd. Of the thread that runs the round.
 *
 * @param <M> the type of the record
 */
final class RecordChange<M extends MessageLite> extends RecordRounds.Member<M> {

  private final String key;
  private final Class<M> type;
  private final Supplier<RuntimeException> missing;
  private final UnaryOperator<M> change;
  private Runnable verdict =
      () -> fail(new IllegalStateException("the change was settled before it was tried"));

  /**
   * A change.
   *
   * @param missing says that there is no such record
   * @param change gets the record and returns the new one; refuses by throwing; may run repeatedly
   */
  RecordChange(
      String key, Class<M> type, Supplier<RuntimeException> missing, UnaryOperator<M> change) {
    this.key = key;
    this.type = type;
    this.missing = missing;
    this.change = change;
  }

  String key() {
    return key;
  }

  /** Tries the change and returns what it makes of the record: the same state if nothing. */
  RecordState apply(RecordState before) {
    try {
      M old = type.cast(record(before));
      M young = change.apply(old);
      verdict = () -> answer(young);
      return young.equals(old) ? before : new RecordState.Present(before.revision(), young);
    } catch (RuntimeException refusal) {
      verdict = () -> fail(refusal);
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

  /** Tells the caller what came of the last try. */
  void settle() {
    verdict.run();
  }
}
