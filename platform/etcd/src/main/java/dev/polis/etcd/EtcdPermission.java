package dev.polis.etcd;

/**
 * What a role may do with a part of the key space; keys are absolute.
 *
 * @param access kind of access
 * @param range keys it is about
 */
public record EtcdPermission(Access access, KeyRange range) {

  /** Kinds of access. */
  public enum Access {
    READ,
    WRITE,
    READ_WRITE
  }

  /** Reading and writing everything in a namespace. */
  public static EtcdPermission all(EtcdNamespace namespace) {
    return new EtcdPermission(Access.READ_WRITE, KeyRange.prefix(namespace.prefix()));
  }
}
