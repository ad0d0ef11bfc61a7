package dev.polis.plugins.local;

import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.PluginOrigin;
import dev.polis.plugins.store.StoredPlugin;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * Lists the plugins that one node runs, could run, and can give to others.
 *
 * @param generation the number of the current generation
 * @param fingerprint the fingerprint of that generation
 * @param running its organs and roles
 * @param distribution the organs and roles of the node's distribution; empty if unknown
 * @param origins the origin of each, by symbolic name, also of removed ones
 * @param files the organs and roles with complete files on this node
 * @param trusted the keys that the cluster trusts, as far as this node knows
 */
public record LocalInventory(
    long generation,
    Digest fingerprint,
    List<StoredPlugin> running,
    List<StoredPlugin> distribution,
    Map<String, PluginOrigin> origins,
    Set<StoredPlugin> files,
    TrustRoots trusted) {

  /** Copies the collections. */
  public LocalInventory {
    Objects.requireNonNull(fingerprint, "fingerprint");
    Objects.requireNonNull(trusted, "trusted");
    running = List.copyOf(running);
    distribution = List.copyOf(distribution);
    origins = Map.copyOf(origins);
    files = Set.copyOf(files);
  }

  /**
   * Finds a running plugin.
   *
   * @param symbolicName its name
   * @return empty if no plugin of that name runs
   */
  public Optional<StoredPlugin> running(String symbolicName) {
    return find(running, symbolicName);
  }

  /**
   * Finds a plugin of the distribution.
   *
   * @param symbolicName its name
   * @return empty if it has no plugin of that name
   */
  public Optional<StoredPlugin> distribution(String symbolicName) {
    return find(distribution, symbolicName);
  }

  /**
   * Returns the reason why a plugin runs or was removed.
   *
   * @param symbolicName its name
   * @return empty if it does not run, except after a removal against the cluster's wish
   */
  public Optional<PluginOrigin> origin(String symbolicName) {
    return Optional.ofNullable(origins.get(symbolicName));
  }

  private static Optional<StoredPlugin> find(List<StoredPlugin> plugins, String symbolicName) {
    return plugins.stream()
        .filter(plugin -> plugin.symbolicName().equals(symbolicName))
        .reduce((first, second) -> second);
  }
}
