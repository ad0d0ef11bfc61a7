package dev.polis.etcd;

/**
 * Says how a range is read.
 *
 * @param limit most keys to return, 0 for all
 * @param revision revision to read at, 0 for the newest
 * @param keysOnly leave the values out (they come back empty)
 * @param serializable accept the answer of one member without asking the others: fast, works
 *     without quorum, may be stale
 */
public record RangeOptions(long limit, long revision, boolean keysOnly, boolean serializable) {

  /** Everything, newest, linearizable. */
  public static final RangeOptions DEFAULT = new RangeOptions(0, 0, false, false);

  public RangeOptions withLimit(long most) {
    return new RangeOptions(most, revision, keysOnly, serializable);
  }

  public RangeOptions atRevision(long at) {
    return new RangeOptions(limit, at, keysOnly, serializable);
  }

  public RangeOptions withKeysOnly() {
    return new RangeOptions(limit, revision, true, serializable);
  }

  public RangeOptions withSerializable() {
    return new RangeOptions(limit, revision, keysOnly, true);
  }
}
