package dev.polis.etcd;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Holds one stored key as of some revision.
 *
 * @param key key within the client's namespace
 * @param value stored bytes; shared, not to be modified
 * @param createRevision revision at which the key was created
 * @param modRevision revision of the last write to the key
 * @param version number of writes since creation, 1 for a new key
 * @param lease id of the key's lease, 0 for none
 */
public record KeyValue(
    String key, byte[] value, long createRevision, long modRevision, long version, long lease) {

  /** Returns the value as UTF-8 text. */
  public String text() {
    return new String(value, StandardCharsets.UTF_8);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof KeyValue that
        && key.equals(that.key)
        && createRevision == that.createRevision
        && modRevision == that.modRevision
        && version == that.version
        && lease == that.lease
        && Arrays.equals(value, that.value);
  }

  @Override
  public int hashCode() {
    return 31 * key.hashCode() + Long.hashCode(modRevision);
  }

  /** Names the key and its revisions, but not the value, which may be a secret. */
  @Override
  public String toString() {
    return "KeyValue[%s, %d bytes, created %d, modified %d, version %d, lease %x]"
        .formatted(key, value.length, createRevision, modRevision, version, lease);
  }
}
