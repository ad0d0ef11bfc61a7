package dev.polis.supervision;

import dev.polis.base.boot.StopReason;
import java.util.Locale;

/**
 * Says why a runnable was cancelled.
 *
 * @param wanted whether it was asked for, so that its effects are no failures
 * @param stop why it shall not start again; null if it shall
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
