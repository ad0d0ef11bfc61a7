package dev.polis.plugins.swap;

import java.util.Objects;

/**
 * Names a bundle and its replacement during a swap. Both may be installed from one file: then the
 * successor has another configuration.
 *
 * @param symbolicName the name that both bear
 * @param predecessor the framework's number of the bundle that goes
 * @param successor the framework's number of the bundle that comes
 */
public record Replacement(String symbolicName, long predecessor, long successor) {
  /** Refuses a missing name. */
  public Replacement {
    Objects.requireNonNull(symbolicName, "symbolicName");
  }

  /**
   * Returns the way back.
   *
   * @return the same two bundles, the other way round
   */
  public Replacement reversed() {
    return new Replacement(symbolicName, successor, predecessor);
  }
}
