package dev.polis.curator;

import dev.polis.etcd.KeyRange;
import dev.polis.etcd.KeyValue;
import dev.polis.etcd.KeyValues;
import dev.polis.etcd.Op;
import dev.polis.etcd.TxnResult;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Reads records, for all who ask at the same time at once. Linearizable: the read from which a
 * caller is answered begins after the caller has asked.
 */
final class RecordReads implements AutoCloseable {

  private final KeyValues kv;

  // Of the thread that runs the rounds: what it read last, which seldom differs from what is next.
  private RecordView last = new RecordView(Map.of());
  private final RecordRounds<Wish> rounds = new RecordRounds<>("curator reads", this::read);

  RecordReads(KeyValues kv) {
    this.kv = kv;
  }

  private static final class Wish extends RecordRounds.Member<RecordView> {
    private final List<KeyRange> ranges;

    Wish(List<KeyRange> ranges) {
      this.ranges = ranges;
    }
  }

  /** Reads what is in the ranges, two of them at most, at one revision. */
  RecordView read(KeyRange... ranges) throws InterruptedException {
    Wish wish = new Wish(List.of(ranges));
    rounds.join(wish);
    return wish.await();
  }

  private void read(List<Wish> wishes) throws InterruptedException {
    Set<KeyRange> ranges = new LinkedHashSet<>();
    wishes.forEach(wish -> ranges.addAll(wish.ranges));
    TxnResult result = kv.txn().then(ranges.stream().map(Op::get).toArray(Op[]::new)).commit();
    Map<KeyRange, List<KeyValue>> found = new HashMap<>();
    int step = 0;
    for (KeyRange range : ranges) {
      found.put(range, result.found(step++));
    }
    last = last.or(found);
    wishes.forEach(wish -> wish.answer(last));
  }

  @Override
  public void close() {
    rounds.close();
  }
}
