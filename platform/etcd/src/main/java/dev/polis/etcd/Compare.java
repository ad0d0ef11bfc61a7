package dev.polis.etcd;

/**
 * States one condition of a transaction: a number of a key is the given one, such as {@code
 * Compare.modRevision("/x").is(7)}. A missing key has create revision and mod revision 0.
 */
public record Compare(String key, Target target, long number) {

  /** Selects the compared number of the key. */
  public enum Target {
    CREATE_REVISION,
    MOD_REVISION
  }

  /** Names a number of a key, to be completed to a condition. */
  public record Subject(String key, Target target) {
    public Compare is(long number) {
      return new Compare(key, target, number);
    }
  }

  public static Subject createRevision(String key) {
    return new Subject(key, Target.CREATE_REVISION);
  }

  public static Subject modRevision(String key) {
    return new Subject(key, Target.MOD_REVISION);
  }

  /** Returns a condition that holds if nothing is stored under the key. */
  public static Compare absent(String key) {
    return createRevision(key).is(0);
  }

  /** Returns a condition that holds if the key has not changed since it was read. */
  public static Compare unchanged(KeyValue seen) {
    return modRevision(seen.key()).is(seen.modRevision());
  }
}
