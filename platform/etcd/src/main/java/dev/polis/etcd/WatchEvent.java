package dev.polis.etcd;

import java.util.Optional;

/** Describes one change of one key. */
public final class WatchEvent {

  /** Says what happened to the key. */
  public enum Type {
    PUT,
    DELETE
  }

  private final Type type;
  private final KeyValue kv;
  private final KeyValue previous;

  /**
   * Describes a change.
   *
   * @param previous null if the key did not exist, or if the watch did not ask for it
   */
  public WatchEvent(Type type, KeyValue kv, KeyValue previous) {
    this.type = type;
    this.kv = kv;
    this.previous = previous;
  }

  public Type type() {
    return type;
  }

  /**
   * Returns the key after the change; of a deleted key only the name and the mod revision mean
   * anything.
   */
  public KeyValue kv() {
    return kv;
  }

  /** Returns the key before the change, if the watch asked for it and it is not compacted yet. */
  public Optional<KeyValue> previous() {
    return Optional.ofNullable(previous);
  }

  public String key() {
    return kv.key();
  }

  /** Returns the revision at which it happened. */
  public long revision() {
    return kv.modRevision();
  }

  /** Returns whether this write created the key. */
  public boolean isCreate() {
    return type == Type.PUT && kv.createRevision() == kv.modRevision();
  }

  @Override
  public String toString() {
    return type + " " + kv;
  }
}
