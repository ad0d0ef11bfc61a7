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
 * <p>Memory is read first, and the leadership checked afterwards: if it held then, no other node
 * could write before this read memory, and this leader's own writes were in memory before it
 * acknowledged them. The answer may arrive late: it was true when this read memory, which was after
 * the call began. A listing begins after the calls that it answers, and the fence is checked in the
 * same transaction.
 */
final class RecordReader implements AutoCloseable {

  private final KeyValues kv;
  private final RecordMemory memory;
  private final BooleanSupplier leads;
  private final RequestBatcher<Read> batcher = new RequestBatcher<>("curator reads", this::answer);

  /**
   * Creates a reader.
   *
   * @param leads whether this node certainly leads; never if it may not read from memory
   */
  RecordReader(KeyValues kv, RecordMemory memory, BooleanSupplier leads) {
    this.kv = kv;
    this.memory = memory;
    this.leads = leads;
  }

  private static final class Read extends RequestBatcher.Request<RecordSnapshot> {}

  /** Returns all records, with each change that was acknowledged before this call. */
  RecordSnapshot read() throws InterruptedException {
    Optional<RecordSnapshot> known = atOnce();
    return known.isPresent() ? known.get() : list();
  }

  /** Returns the same without asking etcd; empty if memory alone does not suffice. */
  Optional<RecordSnapshot> atOnce() {
    RecordSnapshot known = memory.now();
    return isCertain() ? Optional.of(known) : Optional.empty();
  }

  /**
   * Returns whether the records read from memory before this call were the present state. The
   * caller asks this after it has read memory, never before.
   */
  boolean isCertain() {
    return memory.isCurrent() && leads.getAsBoolean();
  }

  /** Lists all records at etcd, and returns the records that memory has then. */
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
