package dev.polis.etcd;

import java.util.Optional;

/** Describes one change of one key. */
public final class WatchEvent {

  /** Names the kind of change. */
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
   * @param previous null if the key did not exist, or the watch did not request it
   */
  public WatchEvent(Type type, KeyValue kv, KeyValue previous) {
    this.type = type;
    this.kv = kv;
    this.previous = previous;
  }

  public Type type() {
    return type;
  }

  /** Returns the key after the change; a deleted key has only a valid name and mod revision. */
  public KeyValue kv() {
    return kv;
  }

  /** Returns the key before the change, if the watch requested it and it is not compacted. */
  public Optional<KeyValue> previous() {
    return Optional.ofNullable(previous);
  }

  public String key() {
    return kv.key();
  }

  /** Returns the revision of the change. */
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
