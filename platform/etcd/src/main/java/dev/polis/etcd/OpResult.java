package dev.polis.etcd;

import java.util.List;

/** Holds the answer of one step of a transaction. */
public sealed interface OpResult {

  /** A put was done. */
  record Stored() implements OpResult {}

  /** {@code count} keys were deleted. */
  record Deleted(long count) implements OpResult {}

  /** The keys that were read, in key order. */
  record Found(List<KeyValue> keys) implements OpResult {
    public Found {
      keys = List.copyOf(keys);
    }
  }
}
