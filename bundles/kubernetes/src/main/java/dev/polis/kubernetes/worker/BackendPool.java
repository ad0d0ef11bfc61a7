package dev.polis.kubernetes.worker;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Chooses API servers in turn, and ends the connections of those that are gone. Thread-safe. */
final class BackendPool {

  private final Map<InetSocketAddress, Backend> backends = new LinkedHashMap<>();
  private int next;

  /** Replaces the set of API servers; connections to those that are not in it are closed. */
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
    int from = alive.isEmpty() ? 0 : next++ % alive.size();
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

  /** Notes a connection; false if its API server has gone, and the connection is to be closed. */
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

  /** Notes that an API server took no connection. */
  synchronized void refused(InetSocketAddress address) {
    Backend backend = backends.get(address);
    if (backend != null) {
      backend.refused();
    }
  }

  /**
   * Notes the outcome of a probe. The connections of a dead one are closed, so that their clients
   * connect again, if there is another to go to.
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

  // Outside of the lock: each one takes itself out of the pool.
  private static void close(Collection<BalancedConnection> connections) {
    connections.forEach(BalancedConnection::close);
  }
}
