package dev.polis.rpc;

import dev.polis.logtree.Log;

/**
 * Decides from time to time whether a listener is flooded with connections, and says so in words.
 * For one thread, but for {@link #words}.
 */
final class FloodWatch {
  /** As many in one look are no client that starts, nor a probe of ports. */
  private static final long MANY = 50;

  /** Looks without a flood after which it is over, so that health does not go back and forth. */
  private static final int QUIET_LOOKS = 6;

  private final String listener;
  private final ConnectionGate gate;
  private final Log log;
  private int quiet = QUIET_LOOKS;
  private volatile String words = "";

  FloodWatch(String listener, ConnectionGate gate, Log log) {
    this.listener = listener;
    this.gate = gate;
    this.log = log;
  }

  /** Returns who floods the listener; empty if nobody does. */
  String words() {
    return words;
  }

  /** Looks at what was turned away since the last time; returns whether the words have changed. */
  boolean look() {
    ConnectionGate.Pressure pressure = gate.pressure();
    if (pressure.turnedAway() >= MANY) {
      quiet = 0;
      boolean began = words.isEmpty();
      if (began) {
        words =
            "more connections are opened than the node bears: %d were closed within %d s, %d of them from %s"
                .formatted(
                    pressure.turnedAway(),
                    LocalRpcHost.LOOK.toSeconds(),
                    pressure.ofWorst(),
                    pressure.worst());
        log.warning("listener '%s': %s; members of the cluster are served", listener, words);
      }
      return began;
    }
    quiet++;
    if (quiet == QUIET_LOOKS && !words.isEmpty()) {
      words = "";
      log.info("listener '%s': the flood of connections is over", listener);
      return true;
    }
    return false;
  }
}
