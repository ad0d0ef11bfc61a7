package dev.polis.plugins.swap;

import java.util.Objects;

/**
 * Names a bundle and its replacement during a swap. Both may come from one file: then the successor
 * has another configuration.
 *
 * @param symbolicName the name of both
 * @param predecessor the framework's number of the old bundle
 * @param successor the framework's number of the new bundle
 */
public record Replacement(String symbolicName, long predecessor, long successor) {
  public Replacement {
    Objects.requireNonNull(symbolicName, "symbolicName");
  }

  /**
   * Returns the reverse replacement.
   *
   * @return the same two bundles in exchanged roles
   */
  public Replacement reversed() {
    return new Replacement(symbolicName, successor, predecessor);
  }
}
