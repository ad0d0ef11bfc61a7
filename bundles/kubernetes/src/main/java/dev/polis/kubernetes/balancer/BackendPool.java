package dev.polis.kubernetes.balancer;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Selects API servers in turn, and closes the connections to missing ones. Thread-safe. */
final class BackendPool {

  private final Map<InetSocketAddress, Backend> backends = new LinkedHashMap<>();
  private int next;

  /** Creates a pool that begins with the first API server. */
  BackendPool() {
    this(0);
  }

  /** Creates a pool for a test of many turns. */
  BackendPool(int next) {
    this.next = next;
  }

  /** Replaces the set of API servers, and closes the connections to removed ones. */
  void set(Set<InetSocketAddress> wanted) {
    List<BalancedConnection> ended = new ArrayList<>();
    synchronized (this) {
      backends
          .values()
          .removeIf(
              backend -> {
                boolean gone = !wanted.contains(backend.address());
                if (gone) {
                  ended.addAll(backend.connections());
                }
                return gone;
              });
      wanted.forEach(address -> backends.computeIfAbsent(address, Backend::new));
    }
    close(ended);
  }

  /** Returns the addresses to try for a new connection, the best first. */
  synchronized List<InetSocketAddress> inTurn() {
    List<InetSocketAddress> alive = addresses(false);
    List<InetSocketAddress> order = new ArrayList<>();
    int from = alive.isEmpty() ? 0 : Math.floorMod(next++, alive.size());
    order.addAll(alive.subList(from, alive.size()));
    order.addAll(alive.subList(0, from));
    // A server that did not answer may have recovered, so it is better than none.
    order.addAll(addresses(true));
    return order;
  }

  /** Returns all addresses. */
  synchronized List<InetSocketAddress> all() {
    return List.copyOf(backends.keySet());
  }

  private List<InetSocketAddress> addresses(boolean dead) {
    return backends.values().stream()
        .filter(backend -> backend.dead() == dead)
        .map(Backend::address)
        .toList();
  }

  /**
   * Adds a connection; returns false if its API server was removed and the caller must close the
   * connection.
   */
  synchronized boolean add(BalancedConnection connection) {
    Backend backend = backends.get(connection.server());
    if (backend == null) {
      return false;
    }
    backend.answered();
    return backend.connections().add(connection);
  }

  synchronized void remove(BalancedConnection connection) {
    Backend backend = backends.get(connection.server());
    if (backend != null) {
      backend.connections().remove(connection);
    }
  }

  /** Records that an API server refused a connection. */
  synchronized void refused(InetSocketAddress address) {
    Backend backend = backends.get(address);
    if (backend != null) {
      backend.refused();
    }
  }

  /**
   * Records the result of a probe. If another API server is there, it closes the connections of a
   * dead one, so that their clients connect again.
   */
  void probed(InetSocketAddress address, boolean answers) {
    List<BalancedConnection> ended = new ArrayList<>();
    synchronized (this) {
      Backend backend = backends.get(address);
      if (backend == null) {
        return;
      }
      if (answers) {
        backend.answered();
        return;
      }
      backend.failed();
      if (backend.dead() && !addresses(false).isEmpty()) {
        ended.addAll(backend.connections());
      }
    }
    close(ended);
  }

  // Outside of the lock, since each connection removes itself from the pool.
  private static void close(Collection<BalancedConnection> connections) {
    connections.forEach(BalancedConnection::close);
  }
}
