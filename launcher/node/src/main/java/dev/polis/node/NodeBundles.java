package dev.polis.node;

import dev.polis.node.exit.Refusal;
import dev.polis.plugins.plan.BootPlan;
import dev.polis.plugins.plan.BootPlanException;
import dev.polis.plugins.plan.BundleManifest;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.store.StoredPlugin;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Holds the verified bundles of a generation and the order they start in.
 *
 * @param files by manifest, in order of symbolic name
 * @param plan the order
 * @param systemPackages what they get from the class path
 */
record NodeBundles(Map<BundleManifest, Path> files, BootPlan plan, SystemPackages systemPackages) {
  /**
   * @throws PluginStoreException if a file is missing or damaged
   * @throws Refusal if the plan does not work out
   * @throws IOException if a file can not be read
   */
  static NodeBundles load(PluginStore store, Generation generation, SystemPackages systemPackages)
      throws Refusal, PluginStoreException, IOException {
    Map<BundleManifest, Path> files = new LinkedHashMap<>();
    for (StoredPlugin plugin : generation.plugins()) {
      Path file = store.verified(plugin);
      files.put(BundleManifest.read(file), file);
    }
    return new NodeBundles(files, plan(files.keySet(), systemPackages), systemPackages);
  }

  static BootPlan plan(Collection<BundleManifest> manifests, SystemPackages systemPackages)
      throws Refusal {
    try {
      return BootPlan.of(manifests, systemPackages.given());
    } catch (BootPlanException e) {
      throw new Refusal(e.getMessage(), e);
    }
  }
}
