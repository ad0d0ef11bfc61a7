package dev.polis.etcd;

import java.util.List;

/**
 * Holds the answer to a read of a range.
 *
 * @param keys the found keys, in key order
 * @param revision the revision of the store at the read; a watch from {@code revision + 1} misses
 *     no change
 * @param count number of keys in the range, also if a limit kept some out of {@code keys}
 */
public record RangeResult(List<KeyValue> keys, long revision, long count) {

  public RangeResult {
    keys = List.copyOf(keys);
  }

  /** Returns whether a limit excluded keys. */
  public boolean more() {
    return count > keys.size();
  }
}
