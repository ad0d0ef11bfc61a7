package dev.polis.etcd;

import com.google.protobuf.ByteString;
import io.etcd.jetcd.api.DeleteRangeResponse;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.PutRequest;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Reads and writes within one namespace. Every call blocks the calling thread until etcd answers or
 * the deadline passes, and may be interrupted. Reads are linearizable and repeated at other members
 * until the deadline; a write is repeated only if etcd certainly did not apply it, else it ends in
 * {@link EtcdOutcomeUnknownException}. etcd may also have applied an interrupted write. It is
 * immutable and safe for any number of threads.
 */
public final class KeyValues {

  private final EtcdConnection connection;
  private final Wire wire;
  private final Duration deadline;
  private final List<Fence> fences;

  KeyValues(EtcdConnection connection, Wire wire, Duration deadline, List<Fence> fences) {
    this.connection = connection;
    this.wire = wire;
    this.deadline = deadline;
    this.fences = List.copyOf(fences);
  }

  /** Returns the same keys with another time limit for each call (8 s by default). */
  public KeyValues within(Duration limit) {
    return new KeyValues(connection, wire, limit, fences);
  }

  /**
   * Returns the same keys with fences: one transaction makes each read or write and checks the
   * fences. If one does not hold, it has no effect and throws {@link EtcdFencedException}.
   */
  public KeyValues fenced(Fence... more) {
    List<Fence> all = new ArrayList<>(fences);
    all.addAll(List.of(more));
    return new KeyValues(connection, wire, deadline, all);
  }

  /** Returns the newest state of a key, empty if it does not exist. */
  public Optional<KeyValue> get(String key) throws InterruptedException {
    return range(KeyRange.single(key)).keys().stream().findFirst();
  }

  /** Returns all keys of a range at one revision. */
  public RangeResult range(KeyRange range) throws InterruptedException {
    return range(range, RangeOptions.DEFAULT);
  }

  /**
   * Returns keys of a range.
   *
   * @throws EtcdCompactedException if the options ask for a revision that is compacted away
   */
  public RangeResult range(KeyRange range, RangeOptions options) throws InterruptedException {
    RangeResponse response =
        fences.isEmpty()
            ? connection.call(
                KVGrpc.getRangeMethod(),
                wire.range(range, options),
                EtcdConnection.Effect.REPEATABLE,
                () -> "read " + range,
                deadline)
            : fencedRange(range, options);
    return new RangeResult(
        wire.keyValues(response.getKvsList()),
        response.getHeader().getRevision(),
        response.getCount());
  }

  private RangeResponse fencedRange(KeyRange range, RangeOptions options)
      throws InterruptedException {
    RequestOp read = RequestOp.newBuilder().setRequestRange(wire.range(range, options)).build();
    TxnResponse response =
        send(
            TxnRequest.newBuilder().addAllCompare(guards()).addSuccess(read).build(),
            EtcdConnection.Effect.REPEATABLE,
            () -> "read " + range);
    // The header of a step inside a transaction has the revision of that step only.
    return response.getResponses(0).getResponseRange().toBuilder()
        .setHeader(response.getHeader())
        .build();
  }

  /**
   * Stores a value.
   *
   * @return the revision of the write
   */
  public long put(String key, byte[] value) throws InterruptedException {
    return put(Op.put(key, value));
  }

  /**
   * Stores a value that etcd deletes when the lease ends.
   *
   * @return the revision of the write
   */
  public long put(String key, byte[] value, Lease lease) throws InterruptedException {
    return put(Op.put(key, value, lease));
  }

  private long put(Op op) throws InterruptedException {
    Op.Put put = (Op.Put) op;
    if (!fences.isEmpty()) {
      return commit(List.of(), List.of(op), List.of()).revision();
    }
    PutRequest request = wire.put(put.key(), put.value(), put.lease());
    Supplier<String> what = () -> "put " + put.key();
    RequestLimits.requireSize(request, what);
    return connection
        .call(KVGrpc.getPutMethod(), request, EtcdConnection.Effect.ONCE, what, deadline)
        .getHeader()
        .getRevision();
  }

  /**
   * Deletes a key.
   *
   * @return whether it existed
   */
  public boolean delete(String key) throws InterruptedException {
    return delete(KeyRange.single(key)) > 0;
  }

  /**
   * Deletes the keys of a range.
   *
   * @return the number of deleted keys
   */
  public long delete(KeyRange range) throws InterruptedException {
    if (!fences.isEmpty()) {
      TxnResult result = commit(List.of(), List.of(Op.delete(range)), List.of());
      return ((OpResult.Deleted) result.results().getFirst()).count();
    }
    DeleteRangeResponse response =
        connection.call(
            KVGrpc.getDeleteRangeMethod(),
            wire.delete(range),
            EtcdConnection.Effect.ONCE,
            () -> "delete " + range,
            deadline);
    return response.getDeleted();
  }

  /** Begins a transaction. */
  public Txn txn() {
    return new Txn(this);
  }

  TxnResult commit(List<Compare> conditions, List<Op> then, List<Op> otherwise)
      throws InterruptedException {
    RequestLimits.requireCount(conditions, then, otherwise);
    TxnRequest inner =
        TxnRequest.newBuilder()
            .addAllCompare(conditions.stream().map(wire::compare).toList())
            .addAllSuccess(then.stream().map(wire::op).toList())
            .addAllFailure(otherwise.stream().map(wire::op).toList())
            .build();
    EtcdConnection.Effect effect =
        readsOnly(then) && readsOnly(otherwise)
            ? EtcdConnection.Effect.REPEATABLE
            : EtcdConnection.Effect.ONCE;
    Supplier<String> what =
        () -> "transaction on " + conditions + " then " + keys(then) + " else " + keys(otherwise);
    if (fences.isEmpty()) {
      return result(send(inner, effect, what));
    }
    if (conditions.isEmpty()) {
      // Not nested: etcd would treat a nested transaction as a write, even if it only reads.
      return result(send(inner.toBuilder().addAllCompare(guards()).build(), effect, what));
    }
    // Nested, so that a lost fence can be distinguished from an unmet condition.
    TxnRequest outer =
        TxnRequest.newBuilder()
            .addAllCompare(guards())
            .addSuccess(RequestOp.newBuilder().setRequestTxn(inner))
            .build();
    TxnResponse response = send(outer, effect, what);
    return result(
        response.getResponses(0).getResponseTxn().toBuilder()
            .setHeader(response.getHeader())
            .build());
  }

  private TxnResponse send(TxnRequest request, EtcdConnection.Effect effect, Supplier<String> what)
      throws InterruptedException {
    RequestLimits.requireSize(request, what);
    TxnResponse response = connection.call(KVGrpc.getTxnMethod(), request, effect, what, deadline);
    if (!fences.isEmpty() && !response.getSucceeded()) {
      throw new EtcdFencedException(
          what.get()
              + " was not done: "
              + fences
              + " does not hold any more; another has taken over, stop acting as the leader",
          null);
    }
    return response;
  }

  private List<io.etcd.jetcd.api.Compare> guards() {
    return fences.stream().map(Wire::compare).toList();
  }

  private TxnResult result(TxnResponse response) {
    return new TxnResult(
        response.getSucceeded(),
        response.getHeader().getRevision(),
        response.getResponsesList().stream().map(wire::result).toList());
  }

  private static boolean readsOnly(List<Op> ops) {
    return ops.stream().allMatch(op -> op instanceof Op.Get);
  }

  /** Returns the keys of the operations, without the values. */
  private static List<String> keys(List<Op> ops) {
    return ops.stream()
        .map(
            op ->
                switch (op) {
                  case Op.Put put -> "put " + put.key();
                  case Op.Delete(KeyRange range) -> "delete " + range;
                  case Op.Get(KeyRange range) -> "get " + range;
                })
        .toList();
  }

  ByteString absolute(String key) {
    return wire.key(key);
  }
}
