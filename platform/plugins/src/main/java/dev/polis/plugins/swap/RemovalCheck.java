package dev.polis.plugins.swap;

import dev.polis.health.HealthKind;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthStatus;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PluginRefusedException;
import dev.polis.plugins.manifest.Provided;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.store.StoredPlugin;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Refuses to remove a plugin whose role the node still has. A run whose code is replaced leaves its
 * child processes to the next version of the code. A removed plugin has no next version, so its
 * child processes would never end.
 */
final class RemovalCheck {
  private final PluginStore store;
  private final HealthRegistry health;

  RemovalCheck(PluginStore store, HealthRegistry health) {
    this.store = store;
    this.health = health;
  }

  /** Refuses if this node has a role that the plugin provides. */
  void require(SwapOrder.Remove order, Generation current)
      throws SwapRefusedException, PluginStoreException, IOException {
    Set<String> roles = roles();
    for (StoredPlugin plugin : current.plugins()) {
      if (!plugin.symbolicName().equals(order.symbolicName())) {
        continue;
      }
      for (Provided provided : provides(plugin)) {
        if (provided instanceof Provided.Role(String role) && roles.contains(role)) {
          throw new SwapRefusedException(
              "%s provides the role %s, which this node has: remove the role first, which ends its work in order (polisctl node role remove NODE %s)"
                  .formatted(plugin.symbolicName(), role, role));
        }
      }
    }
  }

  private Set<String> roles() {
    return health.all().peek().orElse(List.of()).stream()
        .filter(status -> status.kind() == HealthKind.ROLE)
        .map(HealthStatus::name)
        .collect(Collectors.toSet());
  }

  private List<Provided> provides(StoredPlugin plugin)
      throws SwapRefusedException, PluginStoreException, IOException {
    Path file = store.verified(plugin);
    try {
      return ManifestEnvelope.read(file).content().provides();
    } catch (PluginRefusedException e) {
      throw new SwapRefusedException(
          "the services and roles of %s cannot be read: %s"
              .formatted(plugin.symbolicName(), e.getMessage()),
          e);
    }
  }
}
