package dev.polis.rpc;

import dev.polis.logtree.Log;

/**
 * Decides from time to time whether a listener is flooded, and describes the flood as text. For one
 * thread, except {@link #words}.
 */
final class FloodWatch {
  /** As many in one look are no client that starts, nor a probe of ports. */
  private static final long MANY = 50;

  /** Looks without a flood after which it is over, so that health does not go back and forth. */
  private static final int QUIET_LOOKS = 6;

  private final String listener;
  private final String what;
  private final TurnedAway turnedAway;
  private int quiet = QUIET_LOOKS;
  private volatile String words = "";

  /**
   * Creates a watch over what a listener turns away.
   *
   * @param what there is too much of, and what happened to it, such as "connections are opened than
   *     the node allows: it has closed %d"
   */
  FloodWatch(String listener, String what, TurnedAway turnedAway) {
    this.listener = listener;
    this.what = what;
    this.turnedAway = turnedAway;
  }

  /** Returns the description of the flood, with its worst source; empty if there is none. */
  String words() {
    return words;
  }

  /** Looks at what was turned away since the last time; returns whether the words have changed. */
  boolean look(Log log) {
    TurnedAway.Pressure pressure = turnedAway.pressure();
    if (pressure.turnedAway() >= MANY) {
      quiet = 0;
      boolean began = words.isEmpty();
      if (began) {
        words =
            "more %s within %d s, %d of them from %s"
                .formatted(
                    what.formatted(pressure.turnedAway()),
                    LocalRpcHost.LOOK.toSeconds(),
                    pressure.ofWorst(),
                    pressure.worst());
        log.warning("listener '%s': %s; members of the cluster are served", listener, words);
      }
      return began;
    }
    quiet++;
    if (quiet == QUIET_LOOKS && !words.isEmpty()) {
      log.info("listener '%s': the flood is over: %s", listener, words);
      words = "";
      return true;
    }
    return false;
  }
}
