package dev.polis.etcd;

/**
 * Lets a role use a part of the key space; keys are absolute.
 *
 * @param access kind of access
 * @param range its keys
 */
public record EtcdPermission(Access access, KeyRange range) {

  /** Names the kinds of access. */
  public enum Access {
    READ,
    WRITE,
    READ_WRITE
  }

  /** Returns the permission to read and write everything in a namespace. */
  public static EtcdPermission all(EtcdNamespace namespace) {
    return new EtcdPermission(Access.READ_WRITE, KeyRange.prefix(namespace.prefix()));
  }
}
