package dev.polis.etcd;

import java.util.ArrayList;
import java.util.List;

/**
 * Builds a transaction: if all conditions hold, etcd executes one list of operations, else the
 * other. Built by one thread, committed once.
 */
public final class Txn {

  private final KeyValues kv;
  private final List<Compare> conditions = new ArrayList<>();
  private final List<Op> then = new ArrayList<>();
  private final List<Op> otherwise = new ArrayList<>();

  Txn(KeyValues kv) {
    this.kv = kv;
  }

  /** Adds conditions, all of which must hold. */
  public Txn when(Compare... all) {
    conditions.addAll(List.of(all));
    return this;
  }

  /** Adds operations for the case that all conditions hold. */
  public Txn then(Op... ops) {
    then.addAll(List.of(ops));
    return this;
  }

  /** Adds operations for the case that a condition does not hold. */
  public Txn otherwise(Op... ops) {
    otherwise.addAll(List.of(ops));
    return this;
  }

  /**
   * Executes the transaction.
   *
   * @return the executed branch and its answers
   * @throws EtcdOutcomeUnknownException if it contains a write, was sent, and no answer came
   * @throws EtcdFencedException if a fence of the {@link KeyValues} did not hold; etcd changed
   *     nothing
   */
  public TxnResult commit() throws InterruptedException {
    return kv.commit(conditions, then, otherwise);
  }
}
