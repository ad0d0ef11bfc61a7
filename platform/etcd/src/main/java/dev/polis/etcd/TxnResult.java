package dev.polis.etcd;

import java.util.List;

/**
 * Holds the answer to a transaction.
 *
 * @param succeeded true if all conditions held and the {@code then} branch ran
 * @param revision revision of the store after the transaction
 * @param results answers of the executed branch, one for each step
 */
public record TxnResult(boolean succeeded, long revision, List<OpResult> results) {

  public TxnResult {
    results = List.copyOf(results);
  }

  /** Returns the keys found by the step at {@code index}, which must be a get. */
  public List<KeyValue> found(int index) {
    if (results.get(index) instanceof OpResult.Found found) {
      return found.keys();
    }
    throw new IllegalArgumentException(
        "step " + index + " of the transaction is no get but answered " + results.get(index));
  }
}
