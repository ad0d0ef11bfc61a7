package dev.polis.etcd;

import java.util.Optional;

/** One change of one key. */
public final class WatchEvent {

  /** What happened to the key. */
  public enum Type {
    PUT,
    DELETE
  }

  private final Type type;
  private final KeyValue kv;
  private final KeyValue previous;

  /**
   * A change.
   *
   * @param previous null if the key did not exist, or nobody asked
   */
  WatchEvent(Type type, KeyValue kv, KeyValue previous) {
    this.type = type;
    this.kv = kv;
    this.previous = previous;
  }

  public Type type() {
    return type;
  }

  /**
   * The key after the change; of a deleted key only the name and the mod revision mean anything.
   */
  public KeyValue kv() {
    return kv;
  }

  /** The key before the change, if the watch asked for it and there was one not yet compacted. */
  public Optional<KeyValue> previous() {
    return Optional.ofNullable(previous);
  }

  public String key() {
    return kv.key();
  }

  /** Revision at which it happened. */
  public long revision() {
    return kv.modRevision();
  }

  /** True for the write that brought the key into being. */
  public boolean isCreate() {
    return type == Type.PUT && kv.createRevision() == kv.modRevision();
  }

  @Override
  public String toString() {
    return type + " " + kv;
  }
}
