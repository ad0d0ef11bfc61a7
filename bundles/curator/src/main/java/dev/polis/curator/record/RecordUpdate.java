package dev.polis.curator.record;

import com.google.protobuf.MessageLite;
import dev.polis.etcd.Op;
import dev.polis.rpc.RpcException;
import dev.polis.wire.cluster.RememberedChanges;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * Holds one caller's change of one record. The caller gets the outcome only when the change was
 * certainly computed on the present record. Only the batcher's thread uses it.
 *
 * @param <M> the type of the record
 * @param <A> the type of the answer to the caller
 */
final class RecordUpdate<M extends MessageLite, A> extends RequestBatcher.Request<A> {

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

  /**
   * Remembers the change of a call with its answer.
   *
   * @param stored returns the part of the answer that is remembered
   * @param <A> the type of the answer
   */
  record Remembering<A>(ChangeId id, Function<A, ? extends MessageLite> stored, long nowMillis) {

    private static RememberedChanges record(Map<String, RecordState> states, ChangeId id) {
      return find(states.get(id.key()), RememberedChanges.class)
          .orElseGet(RememberedChanges::getDefaultInstance);
    }

    Optional<A> answered(Map<String, RecordState> states) {
      return ChangeMemory.answer(record(states, id), id).map(id::answer);
    }

    void remember(Map<String, RecordState> states, A answer) {
      RememberedChanges more =
          ChangeMemory.with(record(states, id), id, stored.apply(answer), nowMillis);
      states.put(id.key(), new RecordState.Present(states.get(id.key()).revision(), more));
    }
  }

  private final String key;
  private final String other;
  private final Class<M> type;
  private final Change<M> change;
  private final List<Op> alongside;
  private final Function<Optional<M>, A> answer;
  private final Remembering<A> remembering; // null if the call has no id
  private boolean made;
  private boolean changed;
  private Runnable outcome =
      () ->
          fail(new IllegalStateException("the caller confirmed the update before it was computed"));

  private RecordUpdate(
      String key,
      String other,
      Class<M> type,
      Change<M> change,
      List<Op> alongside,
      Function<Optional<M>, A> answer,
      Remembering<A> remembering) {
    this.key = key;
    this.other = other;
    this.type = type;
    this.change = change;
    this.alongside = List.copyOf(alongside);
    this.answer = answer;
    this.remembering = remembering;
  }

  /**
   * Creates an update whose caller gets the written record.
   *
   * @param other the key of another record that affects the change and must not change meanwhile;
   *     the same key if there is none
   */
  static <M extends MessageLite> RecordUpdate<M, Optional<M>> of(
      String key, String other, Class<M> type, Change<M> change) {
    return of(key, other, type, change, List.of());
  }

  /**
   * Creates an update that writes further keys together with the record.
   *
   * @param alongside writes of keys that memory does not keep; left out if the record stays as it
   *     is
   */
  static <M extends MessageLite> RecordUpdate<M, Optional<M>> of(
      String key, String other, Class<M> type, Change<M> change, List<Op> alongside) {
    return new RecordUpdate<>(key, other, type, change, alongside, Function.identity(), null);
  }

  /**
   * Returns the same update with another answer.
   *
   * @param response makes the answer from the written record, right after the change was computed
   * @param remember remembers the change in the same transaction; empty if the call has no id
   */
  <B> RecordUpdate<M, B> answering(
      Function<Optional<M>, B> response, Optional<Remembering<B>> remember) {
    return new RecordUpdate<>(key, other, type, change, alongside, response, remember.orElse(null));
  }

  /** Returns the keys of the records that affect the outcome. */
  List<String> keys() {
    List<String> keys = new ArrayList<>(List.of(key));
    if (!key.equals(other)) {
      keys.add(other);
    }
    remembering().ifPresent(each -> keys.add(each.id().key()));
    return keys;
  }

  /** Returns whether the update is remembered. */
  boolean isRemembered() {
    return remembering != null;
  }

  private Optional<Remembering<A>> remembering() {
    return Optional.ofNullable(remembering);
  }

  /** Computes the change, and replaces the old state if the new one differs. */
  void apply(Map<String, RecordState> states) {
    made = false;
    changed = false;
    RecordState before = states.get(key);
    try {
      Optional<A> given = remembering().flatMap(each -> each.answered(states));
      if (given.isPresent()) {
        outcome = () -> answer(given.get());
        return;
      }
      Optional<M> old = find(before, type);
      Optional<M> updated = change.apply(old, states.get(other));
      A response = answer.apply(updated);
      remembering().ifPresent(each -> each.remember(states, response));
      outcome = () -> answer(response);
      made = true;
      if (!updated.equals(old)) {
        states.put(key, state(before.revision(), updated));
        changed = true;
      }
    } catch (Throwable refusal) {
      // Only this caller of the batch gets the exception.
      outcome = () -> fail(refusal);
    }
  }

  /** Returns false if the last computation refused the change, or found it remembered. */
  boolean isMade() {
    return made;
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

  private static <M extends MessageLite> Optional<M> find(RecordState state, Class<M> type) {
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
