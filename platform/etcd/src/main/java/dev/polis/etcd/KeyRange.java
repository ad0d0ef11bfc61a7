package dev.polis.etcd;

/** Selects the keys of a read, delete or watch. */
public sealed interface KeyRange {

  /** Selects exactly one key. */
  record Single(String key) implements KeyRange {}

  /**
   * Selects each key that begins with {@code prefix}; the empty prefix means the whole namespace.
   */
  record Prefix(String prefix) implements KeyRange {}

  /** Selects the keys from {@code from} (included) up to {@code to} (excluded), in byte order. */
  record Between(String from, String to) implements KeyRange {}

  static KeyRange single(String key) {
    return new Single(key);
  }

  static KeyRange prefix(String prefix) {
    return new Prefix(prefix);
  }

  static KeyRange between(String from, String to) {
    return new Between(from, to);
  }

  static KeyRange all() {
    return new Prefix("");
  }
}
