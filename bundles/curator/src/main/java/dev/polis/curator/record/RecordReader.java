package dev.polis.curator.record;

import dev.polis.etcd.KeyValues;
import dev.polis.etcd.RangeResult;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Reads records: from memory while this node certainly leads, and otherwise from etcd, with one
 * listing for all callers that wait at the same time. Reads are linearizable.
 *
 * <p>It reads memory first, and checks the leadership afterwards: if this node still led, no other
 * node could write before the read, and this leader's own writes were in memory before their
 * acknowledgement. So a late answer was true at the time of the read, which was after the call
 * began. A listing begins after the calls that it answers, and checks the fence in the same
 * transaction.
 */
final class RecordReader implements AutoCloseable {

  private final KeyValues kv;
  private final RecordMemory memory;
  private final BooleanSupplier leads;
  private final RequestBatcher<Read> batcher = new RequestBatcher<>("curator reads", this::answer);

  /**
   * Creates a reader.
   *
   * @param leads returns whether this node certainly leads; always false for a reader that must not
   *     use memory
   */
  RecordReader(KeyValues kv, RecordMemory memory, BooleanSupplier leads) {
    this.kv = kv;
    this.memory = memory;
    this.leads = leads;
  }

  private static final class Read extends RequestBatcher.Request<RecordSnapshot> {}

  /** Returns all records, with each acknowledged change. */
  RecordSnapshot read() throws InterruptedException {
    Optional<RecordSnapshot> known = atOnce();
    return known.isPresent() ? known.get() : list();
  }

  /** Returns the same without a call to etcd; empty if memory alone does not suffice. */
  Optional<RecordSnapshot> atOnce() {
    RecordSnapshot known = memory.now();
    return isCertain() ? Optional.of(known) : Optional.empty();
  }

  /**
   * Returns whether the records that were read from memory before this call were current. The
   * caller calls it after the read of memory, never before.
   */
  boolean isCertain() {
    return memory.isCurrent() && leads.getAsBoolean();
  }

  /** Lists all records in etcd, and returns the records in memory afterwards. */
  RecordSnapshot list() throws InterruptedException {
    Read read = new Read();
    return batcher.call(read, read);
  }

  private void answer(List<Read> batch) throws InterruptedException {
    long mark = memory.mark();
    RangeResult found = kv.range(RecordKeys.RECORDS);
    RecordSnapshot now = memory.replace(mark, found.revision(), found.keys());
    batch.forEach(read -> read.answer(now));
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
