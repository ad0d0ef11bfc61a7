package dev.polis.api.consensus;

import dev.polis.etcd.KeyPrefix;

/**
 * Names the keys of the curators' election. Each node that runs a curator has one of them, with a
 * lease, so the keys also tell which of these nodes run.
 */
public final class CuratorLocks {

  /** The keys, within the namespace of the curator. */
  public static final KeyPrefix PREFIX = KeyPrefix.of("/leader/");

  private CuratorLocks() {}
}
