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
 * Reads records, with one etcd transaction for all callers that wait at the same time. Reads are
 * linearizable: the transaction that answers a call begins after the call was made.
 */
final class RecordReader implements AutoCloseable {

  private final KeyValues kv;

  // For the thread of the batcher: what was read last, which seldom differs from what is read next.
  private RecordSnapshot last = new RecordSnapshot(Map.of());
  private final RequestBatcher<Read> batcher = new RequestBatcher<>("curator reads", this::read);

  RecordReader(KeyValues kv) {
    this.kv = kv;
  }

  private static final class Read extends RequestBatcher.Request<RecordSnapshot> {
    private final List<KeyRange> ranges;

    Read(List<KeyRange> ranges) {
      this.ranges = ranges;
    }
  }

  /** Reads what is in the ranges, two of them at most, at one revision. */
  RecordSnapshot read(KeyRange... ranges) throws InterruptedException {
    Read read = new Read(List.of(ranges));
    batcher.submit(read);
    return read.await();
  }

  private void read(List<Read> batch) throws InterruptedException {
    Set<KeyRange> ranges = new LinkedHashSet<>();
    batch.forEach(read -> ranges.addAll(read.ranges));
    TxnResult result = kv.txn().then(ranges.stream().map(Op::get).toArray(Op[]::new)).commit();
    Map<KeyRange, List<KeyValue>> found = new HashMap<>();
    int step = 0;
    for (KeyRange range : ranges) {
      found.put(range, result.found(step++));
    }
    last = last.orNewer(found);
    batch.forEach(read -> read.answer(last));
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
