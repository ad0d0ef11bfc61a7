package dev.polis.supervision;

import dev.polis.base.boot.StopReason;
import java.util.Locale;

/**
 * Holds the reason of a cancellation.
 *
 * @param wanted true if it was requested, so that its effects are no failures
 * @param stop the reason of a final stop; null before a restart
 * @param reason a text that completes "cancelled because …"
 */
record Cause(boolean wanted, StopReason stop, String reason) {

  static Cause stop(String dn, StopReason why) {
    String words = why.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    return new Cause(true, why, "%s is stopped (%s)".formatted(dn, words));
  }

  static Cause restart(String dn, String reason) {
    return new Cause(true, null, "%s asked for a restart: %s".formatted(dn, reason));
  }

  static Cause death(String dn) {
    return new Cause(false, null, dn + " died");
  }
}
