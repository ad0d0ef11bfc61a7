package dev.polis.etcd;

import java.util.Arrays;

/**
 * Lists the errors of etcd that callers distinguish.
 *
 * <p>etcd sends its errors as texts: their codes are shared by many errors and change between
 * versions. Only this class reads the texts, which come from etcd's package {@code
 * api/v3rpc/rpctypes}.
 */
public enum EtcdError {
  /** The member knows no leader, so it can decide nothing. */
  NO_LEADER("etcdserver: no leader"),
  /** The member has too many running requests. */
  TOO_MANY_REQUESTS("etcdserver: too many requests"),
  /** Users or roles changed during the request. */
  OLD_AUTH_REVISION("etcdserver: revision of auth store is old"),
  /** The member is a learner, which answers only a few kinds of request. */
  LEARNER("etcdserver: rpc not supported for learner"),
  /** The learner lags too far behind the leader for a vote. */
  NOT_IN_SYNC("etcdserver: can only promote a learner member which is in sync with leader"),
  /** The member has not been connected to the others for 5 s, so etcd keeps its list of members. */
  UNHEALTHY("etcdserver: unhealthy cluster"),
  /** The user may not do this. */
  PERMISSION_DENIED("etcdserver: permission denied"),
  /** The requested revision is compacted. */
  COMPACTED("etcdserver: mvcc: required revision has been compacted"),
  /** The database has reached its quota. */
  NO_SPACE("etcdserver: mvcc: database space exceeded"),
  /** The lease has expired, was revoked or never existed. */
  LEASE_NOT_FOUND("etcdserver: requested lease not found"),
  /** A lease of this id exists already. */
  LEASE_EXISTS("etcdserver: lease already exists"),
  /** Any other error; the message of the exception has its code and text. */
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
   * Finds the error of a text.
   *
   * @param text description of a gRPC status, or the reason of a cancelled watch, which begins with
   *     the code
   */
  static EtcdError of(String text) {
    return Arrays.stream(values())
        .filter(error -> error != OTHER && text.endsWith(error.text))
        .findFirst()
        .orElse(OTHER);
  }
}
