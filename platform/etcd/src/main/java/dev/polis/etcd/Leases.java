package dev.polis.etcd;

import java.time.Duration;

/** Grants and adopts leases; all of a client's leases share one keep-alive stream. */
public final class Leases {

  private final EtcdConnection connection;
  private final EtcdClient owner;

  Leases(EtcdConnection connection, EtcdClient owner) {
    this.connection = connection;
    this.owner = owner;
  }

  /**
   * Grants a new lease and keeps it alive until it is revoked, released, closed or lost.
   *
   * @param ttl at least one second; etcd may grant more (never less than about 2 s)
   */
  public Lease grant(Duration ttl) throws InterruptedException {
    return owner.own(connection.leases().grant(ttl));
  }

  /**
   * Adopts a lease that another holder has released, and keeps it alive.
   *
   * @throws EtcdLeaseLostException if etcd no longer knows it
   */
  public Lease adopt(long id) throws InterruptedException {
    return owner.own(connection.leases().adopt(id));
  }
}
