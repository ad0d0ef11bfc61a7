package dev.polis.plugins.graph;

import dev.polis.wire.plugins.Plugin;
import org.osgi.framework.Bundle;

/** Translates the states of bundles into the wire format. */
public final class BundleStates {

  private BundleStates() {}

  /**
   * Translates a state.
   *
   * @param state a state from {@link Bundle#getState}
   */
  public static Plugin.State wire(int state) {
    return switch (state) {
      case Bundle.INSTALLED -> Plugin.State.STATE_INSTALLED;
      case Bundle.RESOLVED -> Plugin.State.STATE_RESOLVED;
      case Bundle.STARTING -> Plugin.State.STATE_STARTING;
      case Bundle.ACTIVE -> Plugin.State.STATE_ACTIVE;
      case Bundle.STOPPING -> Plugin.State.STATE_STOPPING;
      case Bundle.UNINSTALLED -> Plugin.State.STATE_UNINSTALLED;
      default -> Plugin.State.STATE_UNKNOWN;
    };
  }
}
