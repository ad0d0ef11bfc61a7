package dev.polis.curator;

import com.google.protobuf.MessageLite;
import dev.polis.etcd.Compare;
import dev.polis.etcd.KeyRange;
import dev.polis.etcd.KeyValue;
import dev.polis.etcd.KeyValues;
import dev.polis.etcd.Op;
import dev.polis.etcd.TxnResult;
import dev.polis.rpc.RpcException;
import io.grpc.Status;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Updates records with group commit and optimistic concurrency. The updates of a batch are computed
 * one after the other, each on the result of those before, and written in one etcd transaction that
 * compares the revisions of the records. If a record was written by somebody else meanwhile, the
 * batch is computed again on what is stored now.
 *
 * <p>Records are cached as they were last written here, so a batch mostly takes one exchange with
 * etcd. A stale entry of the cache costs another attempt and never a wrong answer.
 */
final class RecordUpdater implements AutoCloseable {

  /** Two leaders seldom write one record at once; after this many times something is wrong. */
  private static final int ATTEMPTS = 16;

  private final KeyValues kv;
  private final RequestBatcher<RecordUpdate<?>> batcher =
      new RequestBatcher<>("curator updates", this::commit);

  // For the thread of the batcher. One entry for each record that was ever updated here.
  private final Map<String, RecordState> cache = new HashMap<>();

  RecordUpdater(KeyValues kv) {
    this.kv = kv;
  }

  /** Makes an update and returns the record as it was written. */
  <M extends MessageLite> M update(RecordUpdate<M> update) throws InterruptedException {
    batcher.submit(update);
    return update.await();
  }

  private void commit(List<RecordUpdate<?>> batch) throws InterruptedException {
    Set<String> keys = new LinkedHashSet<>();
    batch.forEach(update -> keys.add(update.key()));
    boolean committed = false;
    try {
      committed = write(batch, List.copyOf(keys));
    } catch (InterruptedException e) {
      batch.forEach(update -> update.fail(outcomeUnknown()));
      throw e;
    } finally {
      if (!committed) {
        cache.clear();
      }
    }
    if (!committed) {
      throw Refusal.aborted(
          "%s was changed by others %d times while this call tried to; try again", keys, ATTEMPTS);
    }
    batch.forEach(RecordUpdate::confirm);
  }

  private static RpcException outcomeUnknown() {
    return new RpcException(
        Status.Code.UNKNOWN,
        "this leadership ended while the change was written; read the record before you repeat the"
            + " call");
  }

  /** Returns whether the updates, as last computed, are in etcd. */
  private boolean write(List<RecordUpdate<?>> batch, List<String> keys)
      throws InterruptedException {
    read(keys.stream().filter(key -> !cache.containsKey(key)).toList());
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      Map<String, RecordState> states = new HashMap<>(cache);
      batch.forEach(update -> states.compute(update.key(), (key, now) -> update.apply(now)));
      if (compareAndSet(keys, states)) {
        return true;
      }
    }
    return false;
  }

  private void read(List<String> keys) throws InterruptedException {
    if (!keys.isEmpty()) {
      fillCache(keys, kv.txn().then(gets(keys)).commit());
    }
  }

  /** Writes what has changed if the cache is current, and otherwise brings it up to date. */
  private boolean compareAndSet(List<String> keys, Map<String, RecordState> states)
      throws InterruptedException {
    Map<String, MessageLite> changed = new HashMap<>();
    states.forEach(
        (key, state) -> {
          if (state != cache.get(key) && state instanceof RecordState.Present present) {
            changed.put(key, present.record());
          }
        });
    TxnResult result =
        kv.txn()
            .when(keys.stream().map(this::unchanged).toArray(Compare[]::new))
            .then(puts(changed))
            .otherwise(gets(keys))
            .commit();
    if (!result.succeeded()) {
      fillCache(keys, result);
      return false;
    }
    changed.forEach(
        (key, record) -> cache.put(key, new RecordState.Present(result.revision(), record)));
    return true;
  }

  private static Op[] puts(Map<String, MessageLite> records) {
    return records.entrySet().stream()
        .map(record -> Op.put(record.getKey(), record.getValue().toByteArray()))
        .toArray(Op[]::new);
  }

  private Compare unchanged(String key) {
    return Compare.modRevision(key).is(cache.get(key).revision());
  }

  private static Op[] gets(List<String> keys) {
    return keys.stream().map(key -> Op.get(KeyRange.single(key))).toArray(Op[]::new);
  }

  private void fillCache(List<String> keys, TxnResult result) {
    for (int step = 0; step < keys.size(); step++) {
      List<KeyValue> found = result.found(step);
      cache.put(
          keys.get(step),
          found.isEmpty() ? new RecordState.Absent() : RecordState.of(found.getFirst()));
    }
  }

  /** Waits until no batch is in progress; its caller sees to it that none is begun. */
  void awaitIdle() throws InterruptedException {
    batcher.awaitIdle();
  }

  @Override
  public void close() {
    batcher.close();
  }
}
