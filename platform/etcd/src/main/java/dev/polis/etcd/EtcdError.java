package dev.polis.etcd;

import java.util.Arrays;

/**
 * Names the errors of etcd that callers tell apart.
 *
 * <p>etcd sends its errors as texts: their codes are shared by many errors and change between
 * versions. This class is the only one that reads the texts; they are those of etcd's package
 * {@code api/v3rpc/rpctypes}.
 */
public enum EtcdError {
  /** The member knows no leader, so that nothing is decided. */
  NO_LEADER("etcdserver: no leader"),
  /** The member has more requests under way than it takes. */
  TOO_MANY_REQUESTS("etcdserver: too many requests"),
  /** Users or roles changed while the request was on its way. */
  OLD_AUTH_REVISION("etcdserver: revision of auth store is old"),
  /** The member does not vote yet and answers only a few kinds of request. */
  LEARNER("etcdserver: rpc not supported for learner"),
  /** The user may not do this. */
  PERMISSION_DENIED("etcdserver: permission denied"),
  /** The revision that was asked for is compacted away. */
  COMPACTED("etcdserver: mvcc: required revision has been compacted"),
  /** The database has reached its quota. */
  NO_SPACE("etcdserver: mvcc: database space exceeded"),
  /** The lease has expired, was revoked or never existed. */
  LEASE_NOT_FOUND("etcdserver: requested lease not found"),
  /** A lease of this id exists already. */
  LEASE_EXISTS("etcdserver: lease already exists"),
  /** Any other error; its code and its text are in the message of the exception. */
  OTHER("");

  private final String text;

  EtcdError(String text) {
    this.text = text;
  }

  /** Returns etcd's own text; empty for {@link #OTHER}. */
  String text() {
    return text;
  }

  /**
   * Finds the error that a text of etcd means.
   *
   * @param text description of a gRPC status, or the reason of a cancelled watch, which has the
   *     code before it
   */
  static EtcdError of(String text) {
    return Arrays.stream(values())
        .filter(error -> error != OTHER && text.endsWith(error.text))
        .findFirst()
        .orElse(OTHER);
  }
}
