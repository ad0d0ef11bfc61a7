package dev.polis.curator.record;

import com.google.protobuf.MessageLite;
import dev.polis.etcd.Compare;
import dev.polis.etcd.EtcdError;
import dev.polis.etcd.EtcdRefusedException;
import dev.polis.etcd.KeyValues;
import dev.polis.etcd.Op;
import dev.polis.etcd.TxnResult;
import dev.polis.rpc.RpcException;
import io.grpc.Status;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Updates records with group commit and optimistic concurrency. It computes the updates of a batch
 * one after the other, each on the result of the earlier ones, and writes them in one etcd
 * transaction that compares the revisions of the records with those in memory: one exchange with
 * etcd. If another writer changed a record meanwhile, the same exchange lists all records, and the
 * updater computes the batch again on them.
 *
 * <p>Memory has the new records before the callers get their answers. If etcd does not report the
 * outcome of a write, no read uses memory until a new listing.
 */
final class RecordUpdater implements AutoCloseable {

  /**
   * The most attempts: two leaders seldom write one record at once, so more attempts mean a fault.
   */
  private static final int ATTEMPTS = 16;

  private final InstantSource clock;
  private final KeyValues kv;
  private final RecordMemory memory;
  private final RecordReader reader;
  private final RequestBatcher<RecordUpdate<?, ?>> batcher =
      new RequestBatcher<>("curator updates", this::commit);

  RecordUpdater(KeyValues kv, RecordMemory memory, RecordReader reader, InstantSource clock) {
    this.clock = clock;
    this.kv = kv;
    this.memory = memory;
    this.reader = reader;
  }

  /** Makes an update and returns its answer. */
  <A> A update(RecordUpdate<?, A> update) throws InterruptedException {
    return batcher.call(update, update);
  }

  /**
   * Updates a record in a transaction of its own, with changes of keys that memory does not keep.
   * Another writer may have changed those, which is no reason to try again for the updates of
   * others.
   *
   * @param update changes no other keys and depends on no other record
   * @param conditions what must hold besides
   * @return the answer; empty if etcd changed nothing: a record is another one, or a condition does
   *     not hold
   */
  <A> Optional<A> updateAlone(RecordUpdate<?, A> update, List<Compare> conditions, List<Op> others)
      throws InterruptedException {
    RecordSnapshot base = reader.read();
    Set<String> keys = new LinkedHashSet<>(update.keys());
    Map<String, Optional<MessageLite>> changes = compute(List.of(update), base, keys);
    if (!update.isMade()) {
      update.confirm();
      return Optional.of(update.await());
    }
    boolean written = false;
    try {
      TxnResult result =
          kv.txn()
              .when(
                  Stream.concat(compares(base, keys), conditions.stream()).toArray(Compare[]::new))
              .then(
                  Stream.concat(
                          changes.entrySet().stream()
                              .map(change -> op(change.getKey(), change.getValue())),
                          others.stream())
                      .toArray(Op[]::new))
              .commit();
      written = result.succeeded();
      if (!written) {
        return Optional.empty();
      }
      memory.wrote(result.revision(), changes);
      update.confirm();
      return Optional.of(update.await());
    } finally {
      if (!written) {
        memory.distrust();
      }
    }
  }

  private static Stream<Compare> compares(RecordSnapshot base, Set<String> keys) {
    return keys.stream().map(key -> Compare.modRevision(key).is(base.state(key).revision()));
  }

  /**
   * Writes a batch. If etcd refuses it, for example because it is too large, this method tries each
   * half separately, so that only a refused update fails.
   */
  private void commit(List<RecordUpdate<?, ?>> batch) throws InterruptedException {
    try {
      write(batch);
    } catch (InterruptedException e) {
      memory.distrust();
      batch.forEach(update -> update.fail(outcomeUnknown()));
      throw e;
    } catch (EtcdRefusedException refused) {
      if (batch.size() > 1 && refused.error() == EtcdError.OTHER) {
        int half = batch.size() / 2;
        commit(batch.subList(0, half));
        commit(batch.subList(half, batch.size()));
      } else {
        batch.forEach(update -> update.fail(refused));
      }
    } catch (RuntimeException failure) {
      memory.distrust();
      batch.forEach(update -> update.fail(failure));
    }
  }

  private static RpcException outcomeUnknown() {
    return new RpcException(
        Status.Code.UNKNOWN,
        "this leadership ended during the change; read the record before you repeat the call");
  }

  private void write(List<RecordUpdate<?, ?>> batch) throws InterruptedException {
    Set<String> keys = new LinkedHashSet<>();
    batch.forEach(update -> keys.addAll(update.keys()));
    RecordSnapshot base = memory.now();
    if (!memory.isCurrent()) {
      base = reader.list();
    }
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      long mark = memory.mark();
      Optional<String> forgotten = forgotten(batch, keys, base);
      forgotten.ifPresent(keys::add);
      Map<String, Optional<MessageLite>> changes = compute(batch, base, keys);
      forgotten.ifPresent(key -> changes.put(key, Optional.empty()));
      if (changes.isEmpty() && reader.isCertain()) {
        batch.forEach(RecordUpdate::confirm);
        return;
      }
      List<Op> alongside = batch.stream().flatMap(update -> update.alongside().stream()).toList();
      TxnResult result = compareAndSet(base, keys, changes, alongside);
      if (result.succeeded()) {
        memory.wrote(result.revision(), changes);
        batch.forEach(RecordUpdate::confirm);
        return;
      }
      base = memory.replace(mark, result.revision(), result.found(0));
    }
    throw Refusal.aborted(
        "other clients changed %s %d times during this call; try again", keys, ATTEMPTS);
  }

  /**
   * Returns the key of a record of changes to delete. A batch that adds a change deletes one record
   * at most, so the records do not grow in number.
   */
  private Optional<String> forgotten(
      List<RecordUpdate<?, ?>> batch, Set<String> keys, RecordSnapshot base) {
    return batch.stream().anyMatch(RecordUpdate::isRemembered)
        ? ChangeMemory.forgettable(base, clock.millis()).filter(key -> !keys.contains(key))
        : Optional.empty();
  }

  /** Computes the updates one after the other, and returns their combined changes. */
  private static Map<String, Optional<MessageLite>> compute(
      List<RecordUpdate<?, ?>> batch, RecordSnapshot base, Set<String> keys) {
    Map<String, RecordState> states = new HashMap<>();
    keys.forEach(key -> states.put(key, base.state(key)));
    batch.forEach(update -> update.apply(states));
    Map<String, Optional<MessageLite>> changes = new HashMap<>();
    states.forEach(
        (key, state) -> {
          switch (state) {
            case RecordState.Present(long revision, MessageLite record)
                when !state.equals(base.state(key)) ->
                changes.put(key, Optional.of(record));
            case RecordState.Absent() when !state.equals(base.state(key)) ->
                changes.put(key, Optional.empty());
            default -> {}
          }
        });
    return changes;
  }

  /** Writes if the records are unchanged since the computation, else lists all. */
  private TxnResult compareAndSet(
      RecordSnapshot base,
      Set<String> keys,
      Map<String, Optional<MessageLite>> changes,
      List<Op> alongside)
      throws InterruptedException {
    return kv.txn()
        .when(compares(base, keys).toArray(Compare[]::new))
        .then(
            Stream.concat(
                    changes.entrySet().stream()
                        .map(change -> op(change.getKey(), change.getValue())),
                    alongside.stream())
                .toArray(Op[]::new))
        .otherwise(Op.get(RecordKeys.RECORDS))
        .commit();
  }

  private static Op op(String key, Optional<MessageLite> record) {
    return record
        .map(written -> Op.put(key, written.toByteArray()))
        .orElseGet(() -> Op.delete(key));
  }

  /** Waits until no batch is in progress; the caller prevents new ones. */
  void awaitIdle() throws InterruptedException {
    batcher.awaitIdle();
  }

  @Override
  public void close() {
    batcher.close();
  }
}
