package dev.polis.etcd;

import com.google.protobuf.ByteString;

/**
 * Proves a lock, which etcd checks inside each transaction of its holder: "this key still has this
 * create revision". An election makes it. It has an absolute key, so it may guard transactions in
 * each namespace from which the etcd user can read the lock.
 */
public final class Fence {

  private final ByteString key;
  private final long createRevision;

  Fence(ByteString key, long createRevision) {
    this.key = key;
    this.createRevision = createRevision;
  }

  ByteString key() {
    return key;
  }

  /**
   * Returns the revision at which the lock was made; it grows with each holder, and so orders the
   * holders.
   */
  public long createRevision() {
    return createRevision;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Fence that
        && key.equals(that.key)
        && createRevision == that.createRevision;
  }

  @Override
  public int hashCode() {
    return 31 * key.hashCode() + Long.hashCode(createRevision);
  }

  @Override
  public String toString() {
    return "Fence[" + key.toStringUtf8() + " created " + createRevision + "]";
  }
}
