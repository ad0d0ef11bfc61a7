package dev.polis.kubernetes.balancer;

import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.Set;

/** Holds the load balancer's knowledge of one API server. Guarded by its pool. */
final class Backend {

  /**
   * The number of unanswered probes in a row that mark an API server as dead, since a single one
   * may be an accident.
   */
  private static final int DEAD_AFTER = 2;

  private final InetSocketAddress address;
  private final Set<BalancedConnection> connections = new HashSet<>();
  private int failures;

  Backend(InetSocketAddress address) {
    this.address = address;
  }

  InetSocketAddress address() {
    return address;
  }

  Set<BalancedConnection> connections() {
    return connections;
  }

  boolean dead() {
    return failures >= DEAD_AFTER;
  }

  void answered() {
    failures = 0;
  }

  void failed() {
    failures++;
  }

  /** Marks the API server as dead until it answers. */
  void refused() {
    failures = DEAD_AFTER;
  }
}
