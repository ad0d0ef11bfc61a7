package dev.polis.etcd;

/**
 * States one condition of a transaction, such as {@code Compare.modRevision("/x").is(EQUAL, 7)}. A
 * missing key has create revision, mod revision and version 0; comparing its value is always false.
 */
public sealed interface Compare {

  /** Says how the stored figure must relate to the given one. */
  enum Relation {
    EQUAL,
    NOT_EQUAL,
    GREATER,
    LESS
  }

  /** Says which figure of the key is compared. */
  enum Target {
    CREATE_REVISION,
    MOD_REVISION,
    VERSION
  }

  /** States a condition on a number. */
  record Number(String key, Target target, Relation relation, long number) implements Compare {}

  /** States a condition on the stored bytes. */
  record Value(String key, Relation relation, byte[] value) implements Compare {}

  /** Names a number of a key, to be completed to a condition. */
  record Subject(String key, Target target) {
    public Compare is(Relation relation, long number) {
      return new Number(key, target, relation, number);
    }

    public Compare is(long number) {
      return is(Relation.EQUAL, number);
    }
  }

  static Subject createRevision(String key) {
    return new Subject(key, Target.CREATE_REVISION);
  }

  static Subject modRevision(String key) {
    return new Subject(key, Target.MOD_REVISION);
  }

  static Subject version(String key) {
    return new Subject(key, Target.VERSION);
  }

  static Compare value(String key, byte[] value) {
    return new Value(key, Relation.EQUAL, value);
  }

  static Compare value(String key, Relation relation, byte[] value) {
    return new Value(key, relation, value);
  }

  /** Returns a condition that holds if nothing is stored under the key. */
  static Compare absent(String key) {
    return createRevision(key).is(0);
  }

  /** Returns a condition that holds if something is stored under the key. */
  static Compare present(String key) {
    return createRevision(key).is(Relation.GREATER, 0);
  }

  /** Returns a condition that holds if the key has not changed since it was read. */
  static Compare unchanged(KeyValue seen) {
    return modRevision(seen.key()).is(seen.modRevision());
  }
}
