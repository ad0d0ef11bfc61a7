package dev.polis.curator.record;

import com.google.protobuf.MessageLite;
import dev.polis.etcd.Op;
import dev.polis.rpc.RpcException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Holds one caller's change of one record. The caller gets the outcome only when the change was
 * certainly computed on the present record. Only the batcher's thread uses it.
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
     * Returns the new record from the present one; empty means no record. It refuses with an
     * exception, and may run repeatedly.
     *
     * @param other the state of the other record that affects the change
     */
    Optional<M> apply(Optional<M> record, RecordState other);
  }

  private final String key;
  private final String other;
  private final Class<M> type;
  private final Change<M> change;
  private final List<Op> alongside;
  private boolean changed;
  private Runnable outcome =
      () ->
          fail(new IllegalStateException("the caller confirmed the update before it was computed"));

  /**
   * Creates an update.
   *
   * @param other the key of another record that affects the change and must not change meanwhile;
   *     the same key if there is none
   */
  RecordUpdate(String key, String other, Class<M> type, Change<M> change) {
    this(key, other, type, change, List.of());
  }

  /**
   * Creates an update that writes further keys together with the record.
   *
   * @param alongside writes of keys that memory does not keep; left out if the record stays as it
   *     is
   */
  RecordUpdate(String key, String other, Class<M> type, Change<M> change, List<Op> alongside) {
    this.key = key;
    this.other = other;
    this.type = type;
    this.change = change;
    this.alongside = List.copyOf(alongside);
  }

  /** Returns the keys of the records that affect the outcome. */
  List<String> keys() {
    return key.equals(other) ? List.of(key) : List.of(key, other);
  }

  /** Computes the change, and replaces the old state if the new one differs. */
  void apply(Map<String, RecordState> states) {
    changed = false;
    RecordState before = states.get(key);
    try {
      Optional<M> old = record(before);
      Optional<M> updated = change.apply(old, states.get(other));
      outcome = () -> answer(updated);
      if (!updated.equals(old)) {
        states.put(key, state(before.revision(), updated));
        changed = true;
      }
    } catch (Throwable refusal) {
      // Only this caller of the batch gets the exception.
      outcome = () -> fail(refusal);
    }
  }

  /** Returns the writes of further keys by the last computation. */
  List<Op> alongside() {
    return changed ? alongside : List.of();
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
