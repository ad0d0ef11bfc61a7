package dev.polis.etcd;

import java.util.List;

/** Holds the answer of one step of a transaction. */
public sealed interface OpResult {

  /** Means that the put was applied. */
  record Stored() implements OpResult {}

  /** Means that {@code count} keys were deleted. */
  record Deleted(long count) implements OpResult {}

  /** Holds the read keys, in key order. */
  record Found(List<KeyValue> keys) implements OpResult {
    public Found {
      keys = List.copyOf(keys);
    }
  }
}
