package dev.polis.plugins.swap;

import java.util.Objects;

/**
 * Describes one effect of a swap on the running node, or one unaffected part.
 *
 * @param effect the effect
 * @param subject the affected bundle, component, service or process
 * @param reason the reason
 */
public record BlastLine(Effect effect, String subject, String reason) {

  /** Lists the effects of a swap. */
  public enum Effect {
    /** A bundle is installed and started. */
    STARTS,
    /** A bundle is stopped and uninstalled. */
    STOPS,
    /** The framework wires a bundle again because it uses packages of a removed one. */
    REFRESHES,
    /** A service goes away. */
    SERVICE_GOES,
    /** A component is deactivated, and activated again with the successor's service. */
    DEACTIVATES,
    /** A component changes from one service to the other while it runs. */
    REBINDS,
    /** Outside calls wait until the successor serves them. */
    HOLDS_CALLS,
    /** A configuration changes. */
    CONFIGURES,
    /** A part that an operator might worry about continues to run. */
    UNTOUCHED
  }

  public BlastLine {
    Objects.requireNonNull(effect, "effect");
    Objects.requireNonNull(subject, "subject");
    Objects.requireNonNull(reason, "reason");
  }
}
