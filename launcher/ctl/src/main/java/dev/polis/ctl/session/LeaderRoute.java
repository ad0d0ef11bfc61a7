package dev.polis.ctl.session;

import dev.polis.pki.NodeEndpoint;
import java.util.Optional;

/**
 * Remembers the leader to which a curator has referred the calls of a session. Safe for any thread.
 */
final class LeaderRoute {

  /**
   * The most referrals in a row: the leader may change once while a node names it, and nodes that
   * name each other have no leader to offer.
   */
  static final int MOST = 4;

  private NodeEndpoint leader; // null while the named node serves the calls; guarded by this
  private int referrals; // guarded by this

  /** Returns the leader that serves the calls; empty while the named node does. */
  synchronized Optional<NodeEndpoint> leader() {
    return Optional.ofNullable(leader);
  }

  /**
   * Sends the next calls to this node.
   *
   * @return false if the curators have referred the call too often; then the next calls go to the
   *     named node again
   */
  synchronized boolean follow(NodeEndpoint named) {
    referrals++;
    boolean further = referrals <= MOST;
    leader = further ? named : null;
    if (!further) {
      referrals = 0;
    }
    return further;
  }

  /** Notes that the present node serves the calls. */
  synchronized void arrived() {
    referrals = 0;
  }

  /** Sends the next calls to the named node again. */
  synchronized void back() {
    leader = null;
    referrals = 0;
  }
}
