package dev.polis.etcd;

import java.util.List;

/**
 * Holds the answer to a read of a range.
 *
 * @param keys what was found, in key order
 * @param revision revision of the store at which all of it was read; a watch from {@code revision +
 *     1} misses nothing
 * @param count number of keys in the range, also if a limit kept some out of {@code keys}
 */
public record RangeResult(List<KeyValue> keys, long revision, long count) {

  public RangeResult {
    keys = List.copyOf(keys);
  }

  /** Returns whether a limit kept keys out. */
  public boolean more() {
    return count > keys.size();
  }
}
