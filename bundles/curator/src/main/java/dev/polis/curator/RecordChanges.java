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
 * Changes records, for all who wait at once: their changes are tried one after the other, each on
 * what those before have left, and written in one transaction. That holds only if no record has
 * been written since it was seen here, else all is tried again on what is there now. So a round
 * mostly takes one exchange with etcd, as the records are known from the last one; what is known
 * may be old, which costs another try and never a wrong answer.
 */
final class RecordChanges implements AutoCloseable {

  /** Two leaders seldom meet at one record; after this many times something is wrong. */
  private static final int ATTEMPTS = 16;

  private final KeyValues kv;
  private final RecordRounds<RecordChange<?>> rounds =
      new RecordRounds<>("curator changes", this::change);

  // Of the thread that runs the rounds. One entry for each record that was ever changed here.
  private final Map<String, RecordState> known = new HashMap<>();

  RecordChanges(KeyValues kv) {
    this.kv = kv;
  }

  /** Makes a change and returns the record as it was written. */
  <M extends MessageLite> M make(RecordChange<M> change) throws InterruptedException {
    rounds.join(change);
    return change.await();
  }

  private void change(List<RecordChange<?>> changes) throws InterruptedException {
    Set<String> keys = new LinkedHashSet<>();
    changes.forEach(change -> keys.add(change.key()));
    boolean settled = false;
    try {
      settled = write(changes, List.copyOf(keys));
    } catch (InterruptedException e) {
      changes.forEach(change -> change.fail(unknown()));
      throw e;
    } finally {
      if (!settled) {
        known.clear();
      }
    }
    if (!settled) {
      throw Refusal.aborted(
          "%s was changed by others %d times while this call tried to; try again", keys, ATTEMPTS);
    }
    changes.forEach(RecordChange::settle);
  }

  private static RpcException unknown() {
    return new RpcException(
        Status.Code.UNKNOWN,
        "this leadership ended while the change was written; look before you repeat it");
  }

  /** Returns whether the changes, as last tried, are in etcd. */
  private boolean write(List<RecordChange<?>> changes, List<String> keys)
      throws InterruptedException {
    read(keys.stream().filter(key -> !known.containsKey(key)).toList());
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      Map<String, RecordState> states = new HashMap<>(known);
      changes.forEach(change -> states.compute(change.key(), (key, now) -> change.apply(now)));
      if (replace(keys, states)) {
        return true;
      }
    }
    return false;
  }

  private void read(List<String> keys) throws InterruptedException {
    if (!keys.isEmpty()) {
      learn(keys, kv.txn().then(gets(keys)).commit());
    }
  }

  /** Writes what has changed, or learns what is there instead of what was known. */
  private boolean replace(List<String> keys, Map<String, RecordState> states)
      throws InterruptedException {
    Map<String, MessageLite> changed = new HashMap<>();
    states.forEach(
        (key, state) -> {
          if (state != known.get(key) && state instanceof RecordState.Present present) {
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
      learn(keys, result);
      return false;
    }
    changed.forEach(
        (key, record) -> known.put(key, new RecordState.Present(result.revision(), record)));
    return true;
  }

  private static Op[] puts(Map<String, MessageLite> records) {
    return records.entrySet().stream()
        .map(record -> Op.put(record.getKey(), record.getValue().toByteArray()))
        .toArray(Op[]::new);
  }

  private Compare unchanged(String key) {
    return Compare.modRevision(key).is(known.get(key).revision());
  }

  private static Op[] gets(List<String> keys) {
    return keys.stream().map(key -> Op.get(KeyRange.single(key))).toArray(Op[]::new);
  }

  private void learn(List<String> keys, TxnResult result) {
    for (int step = 0; step < keys.size(); step++) {
      List<KeyValue> found = result.found(step);
      known.put(
          keys.get(step),
          found.isEmpty() ? new RecordState.Absent() : RecordState.of(found.getFirst()));
    }
  }

  @Override
  public void close() {
    rounds.close();
  }
}
