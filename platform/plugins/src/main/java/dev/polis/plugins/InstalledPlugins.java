package dev.polis.plugins;

import dev.polis.health.PluginDirectory;
import dev.polis.health.PluginStatus;
import dev.polis.plugins.manifest.BundlePlugin;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.Provided;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/**
 * Reads from the plugin manifests which installed bundles provide organs and roles. It reads a
 * readable manifest once for each installed bundle and process, and an unreadable one at each call.
 */
@Component(immediate = true)
public final class InstalledPlugins implements PluginDirectory {
  private final BundleContext context;
  private final Map<Long, BundlePlugin> known = new ConcurrentHashMap<>();

  /**
   * Creates the directory without a read.
   *
   * @param context the context of this bundle
   */
  @Activate
  public InstalledPlugins(BundleContext context) {
    this.context = context;
  }

  @Override
  public Map<Long, PluginStatus.Provided> provided() {
    Bundle[] bundles = context.getBundles();
    Map<Long, PluginStatus.Provided> provided = new TreeMap<>();
    for (Bundle bundle : bundles) {
      if (read(bundle) instanceof BundlePlugin.Organ(PluginManifest manifest)) {
        provided.put(bundle.getBundleId(), provided(manifest));
      }
    }
    known.keySet().removeIf(number -> context.getBundle(number) == null);
    return provided;
  }

  private BundlePlugin read(Bundle bundle) {
    BundlePlugin before = known.get(bundle.getBundleId());
    if (before != null) {
      return before;
    }
    BundlePlugin now = BundlePlugin.of(bundle);
    if (!(now instanceof BundlePlugin.Undescribed)) {
      known.put(bundle.getBundleId(), now);
    }
    return now;
  }

  /** Separates the organs and roles of a manifest. */
  static PluginStatus.Provided provided(PluginManifest manifest) {
    return new PluginStatus.Provided(
        names(manifest, Provided.Organ.class), names(manifest, Provided.Role.class));
  }

  private static Set<String> names(PluginManifest manifest, Class<? extends Provided> kind) {
    return manifest.provides().stream()
        .filter(kind::isInstance)
        .map(Provided::name)
        .collect(Collectors.toSet());
  }
}
