package dev.polis.rpc;

import dev.polis.logtree.Log;
import dev.polis.process.PortHolder;
import java.net.InetAddress;
import java.util.function.IntSupplier;

/**
 * Decides from time to time whether a listener is flooded, and describes the flood as text. For one
 * thread, except {@link #words}.
 */
final class FloodWatch {
  /**
   * The number from which one look counts as a flood; a starting client and a port probe stay
   * below.
   */
  private static final long MANY = 50;

  /**
   * The number of looks without a flood that end one, so that health does not change back and
   * forth.
   */
  private static final int QUIET_LOOKS = 6;

  private final String listener;
  private final String what;
  private final TurnedAway turnedAway;
  private final IntSupplier port;
  private final PortHolder holders = new PortHolder();
  private int quiet = QUIET_LOOKS;
  private volatile String words = "";

  /**
   * Creates a watch over the connections or calls that a listener turns away.
   *
   * @param what the message about the flood, such as "connections are opened than the node allows:
   *     it has closed %d"
   * @param port returns the listener's port
   */
  FloodWatch(String listener, String what, TurnedAway turnedAway, IntSupplier port) {
    this.listener = listener;
    this.what = what;
    this.turnedAway = turnedAway;
    this.port = port;
  }

  /** Names the process if the source is one of this machine, which no firewall is in front of. */
  private String fromHere(String source) {
    try {
      return holders
          .client(InetAddress.ofLiteral(source), port.getAsInt())
          .map(client -> RpcListenerStatus.FROM_HERE + client)
          .orElse("");
    } catch (IllegalArgumentException network) {
      return ""; // several addresses are one source
    }
  }

  /** Returns the description of the flood, with its worst source; empty if there is none. */
  String words() {
    return words;
  }

  /**
   * Reads the number turned away since the last look; returns whether the description has changed.
   */
  boolean look(Log log) {
    TurnedAway.Pressure pressure = turnedAway.pressure();
    if (pressure.turnedAway() >= MANY) {
      quiet = 0;
      boolean began = words.isEmpty();
      if (began) {
        words =
            "more %s within %d s, %d of them from %s%s"
                .formatted(
                    what.formatted(pressure.turnedAway()),
                    LocalRpcHost.LOOK.toSeconds(),
                    pressure.ofWorst(),
                    pressure.worst(),
                    fromHere(pressure.worst()));
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
