package dev.polis.etcd;

/**
 * Holds the options of a read of a range.
 *
 * @param limit most keys to return, 0 for all
 * @param revision revision to read at, 0 for the newest
 * @param keysOnly true to omit the values, which come back empty
 */
public record RangeOptions(long limit, long revision, boolean keysOnly) {

  /** The default options: all keys, newest revision, linearizable. */
  public static final RangeOptions DEFAULT = new RangeOptions(0, 0, false);

  public RangeOptions withLimit(long most) {
    return new RangeOptions(most, revision, keysOnly);
  }

  public RangeOptions atRevision(long at) {
    return new RangeOptions(limit, at, keysOnly);
  }

  public RangeOptions withKeysOnly() {
    return new RangeOptions(limit, revision, true);
  }
}
