package dev.polis.etcd;

import java.util.function.Supplier;

/**
 * Opens clients of one user that share a connection, with one handshake and one event loop. The
 * first client opens the connection, and the last one closes it. Thread-safe.
 *
 * <p>When the access has changed, because etcd has another address, the next client gets a new
 * connection; open clients keep theirs.
 */
public final class SharedEtcdConnection {

  /** Counts the clients of one connection. Guarded by the outer object. */
  private static final class Shared {
    final EtcdAccess access;
    final EtcdClient client;
    int users;

    Shared(EtcdAccess access, LeaseClocks clocks) {
      this.access = access;
      this.client = EtcdClient.connect(access, clocks);
    }
  }

  private final Supplier<EtcdAccess> access;
  private final LeaseClocks clocks;
  private Shared latest; // null until the first client

  /**
   * @param access returns the present access, for each client
   */
  public SharedEtcdConnection(Supplier<EtcdAccess> access) {
    this(access, LeaseClocks.SYSTEM);
  }

  SharedEtcdConnection(Supplier<EtcdAccess> access, LeaseClocks clocks) {
    this.access = access;
    this.clocks = clocks;
  }

  /**
   * Returns a client, which its caller closes.
   *
   * @throws IllegalArgumentException if the key or certificate cannot be used
   */
  public synchronized EtcdClient connect() {
    EtcdAccess now = access.get();
    if (latest == null || latest.users == 0 || !latest.access.sameAs(now)) {
      latest = new Shared(now, clocks);
    }
    Shared used = latest;
    used.users++;
    return used.client.shared(() -> release(used));
  }

  private void release(Shared used) {
    if (isUnused(used)) {
      used.client.close();
    }
  }

  private synchronized boolean isUnused(Shared used) {
    used.users--;
    return used.users == 0;
  }
}
