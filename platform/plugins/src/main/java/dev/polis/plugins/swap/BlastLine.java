package dev.polis.plugins.swap;

import java.util.Objects;

/**
 * Holds one effect of a swap on the running node, or one unaffected thing.
 *
 * @param effect what happens
 * @param subject to what: a bundle, a component, a service, a process
 * @param reason why
 */
public record BlastLine(Effect effect, String subject, String reason) {

  /** What a swap does to something. */
  public enum Effect {
    /** A bundle is installed and started. */
    STARTS,
    /** A bundle is stopped and uninstalled. */
    STOPS,
    /** A bundle is wired again because it uses packages of one that goes. */
    REFRESHES,
    /** A service goes away. */
    SERVICE_GOES,
    /** A component is deactivated, and activated again with the successor's service. */
    DEACTIVATES,
    /** A component changes from one service to the other while it runs. */
    REBINDS,
    /** Calls from outside wait until the successor serves them. */
    HOLDS_CALLS,
    /** A configuration changes. */
    CONFIGURES,
    /** Something runs on that one might worry about. */
    UNTOUCHED
  }

  /** Refuses what is missing. */
  public BlastLine {
    Objects.requireNonNull(effect, "effect");
    Objects.requireNonNull(subject, "subject");
    Objects.requireNonNull(reason, "reason");
  }
}
