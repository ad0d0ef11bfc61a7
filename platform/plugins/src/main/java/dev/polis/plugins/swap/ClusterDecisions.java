package dev.polis.plugins.swap;

import dev.polis.plugins.store.ClusterWants;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginOrigins;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.StoredPlugin;
import java.io.IOException;
import java.util.Optional;

/** Checks manual orders against the cluster's wishes for this node. */
final class ClusterDecisions {
  /** The shown digits of a digest, which distinguish digests on a screen. */
  private static final int SHORT_DIGEST = 12;

  private final PluginStore store;

  ClusterDecisions(PluginStore store) {
    this.store = store;
  }

  /**
   * Refuses a manual order that replaces a plugin by one that the cluster does not want, unless it
   * is forced.
   */
  void require(SwapOptions options, Generation current, Generation target)
      throws SwapRefusedException, IOException {
    if (options.byCluster() || options.force()) {
      return;
    }
    for (ClusterWants.Wanted wanted : ClusterWants.read(store).here()) {
      String name = wanted.plugin().symbolicName();
      Optional<StoredPlugin> next = target.find(name);
      boolean changes = !next.equals(current.find(name));
      boolean asWanted =
          next.filter(plugin -> plugin.digest().equals(wanted.plugin().digest())).isPresent();
      if (changes && !asWanted) {
        throw new SwapRefusedException(overruled(wanted, next));
      }
    }
  }

  private static String overruled(ClusterWants.Wanted wanted, Optional<StoredPlugin> next) {
    String name = wanted.plugin().symbolicName();
    return "the cluster wants %s %s, and this would %s: \"plugin push FILE\" makes the cluster want a new version, \"plugin pin %s\" one that it has, \"plugin unpin %s\" none, each with the same --role, --node or --everywhere; --force overrules it on this node until the cluster wants another"
        .formatted(
            label(wanted.plugin()),
            wanted.scope(),
            next.map(plugin -> "run " + label(plugin)).orElse("take it away"),
            next.map(plugin -> name + "@" + plugin.version()).orElse(name + "@VERSION"),
            name);
  }

  private static String label(StoredPlugin plugin) {
    return "%s %s (%s)"
        .formatted(
            plugin.symbolicName(),
            plugin.version(),
            plugin.digest().hex().substring(0, SHORT_DIGEST));
  }

  /** Records the origin of the swap's plugins before the commit. */
  void note(SwapOptions options, Generation current, Generation target) throws IOException {
    PluginOrigins.of(store).note(current, target, options.byCluster(), ClusterWants.read(store));
  }
}
