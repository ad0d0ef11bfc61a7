package dev.polis.plugins.swap;

import dev.polis.base.config.DidYouMean;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PluginRefusedException;
import dev.polis.plugins.metatype.ConfigurationKeys;
import dev.polis.plugins.metatype.UnfitSettingException;
import dev.polis.plugins.plan.BootPlan;
import dev.polis.plugins.plan.BootPlanException;
import dev.polis.plugins.plan.BundleManifest;
import dev.polis.plugins.plan.Offer;
import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.store.StoredPlugin;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.osgi.framework.Version;

/** Determines the generation that an order wants, and refuses impossible orders. */
final class SwapTargets {
  /** The services of the launcher itself. */
  private static final List<Offer> GIVEN = List.of(Offer.service("dev.polis.base.boot.BootReport"));

  private final PluginStore store;
  private final PluginCheck check;

  SwapTargets(PluginStore store, PluginCheck check) {
    this.store = store;
    this.check = check;
  }

  /**
   * Is a wanted generation.
   *
   * @param generation the generation, with the number of the present one
   * @param verified the signers of its bundles, as a text for people
   */
  record Target(Generation generation, String verified) {}

  Target of(SwapOrder order, SwapOptions options, Generation current)
      throws SwapRefusedException, PluginStoreException, IOException {
    return switch (order) {
      case SwapOrder.Replace replace -> replaced(replace, options, current);
      case SwapOrder.Remove remove -> new Target(removed(remove, current), "nothing comes");
      case SwapOrder.Configure configure ->
          new Target(configured(configure, current), "no bundle comes");
      case SwapOrder.Adopt adopt ->
          new Target(adopted(adopt, current), "its bundles came with the distribution");
      case SwapOrder.Rollback rollback ->
          new Target(before(current), "its bundles are verified anew");
    };
  }

  /**
   * Verifies the plugins of a generation that were in the store before, since their signer's key
   * may have been removed meanwhile. The distribution's plugins need no key.
   */
  void requireTrusted(List<StoredPlugin> coming)
      throws SwapRefusedException, PluginStoreException, IOException {
    List<StoredPlugin> own = store.distribution().map(Generation::plugins).orElse(List.of());
    for (StoredPlugin each : coming) {
      if (!own.contains(each)) {
        Path file = store.verified(each);
        check.verify(file, manifest(file));
      }
    }
  }

  private static byte[] manifest(Path bundle) throws SwapRefusedException, IOException {
    try {
      return ManifestEnvelope.stored(bundle);
    } catch (PluginRefusedException e) {
      throw new SwapRefusedException(e.getMessage(), e);
    }
  }

  private Target replaced(SwapOrder.Replace order, SwapOptions options, Generation current)
      throws SwapRefusedException, PluginStoreException, IOException {
    String verified = check.verify(order.file(), order.manifest());
    BundleManifest manifest = BundleManifest.read(order.file());
    requireOrgan(manifest);
    StoredPlugin plugin =
        new StoredPlugin(manifest.symbolicName(), manifest.version(), Digest.of(order.file()));
    List<StoredPlugin> plugins = new ArrayList<>();
    for (StoredPlugin each : current.plugins()) {
      if (!each.symbolicName().equals(plugin.symbolicName())) {
        plugins.add(each);
      } else if (!options.older()) {
        requireNewer(plugin, each);
      }
    }
    store.put(plugin, order.file());
    store.putManifest(plugin, order.manifest());
    plugins.add(plugin);
    return new Target(with(current, plugins, current.configuration()), verified);
  }

  private static void requireOrgan(BundleManifest manifest) throws SwapRefusedException {
    if (!manifest.exports().isEmpty()) {
      throw new SwapRefusedException(
          "%s exports packages, so it belongs to the platform, which stands still while the process lives; this needs a new process: install a distribution that has it, then \"polisctl node restart --runtime\""
              .formatted(manifest.symbolicName()));
    }
    if (manifest.fragment()) {
      throw new SwapRefusedException(
          manifest.symbolicName() + " is a fragment, which has no life of its own; pack a bundle");
    }
  }

  private static void requireNewer(StoredPlugin plugin, StoredPlugin running)
      throws SwapRefusedException {
    if (Version.parseVersion(plugin.version()).compareTo(Version.parseVersion(running.version()))
        < 0) {
      throw new SwapRefusedException(
          "%s %s is older than %s, which runs; give --older if you want the older version"
              .formatted(plugin.symbolicName(), plugin.version(), running.version()));
    }
  }

  private Generation removed(SwapOrder.Remove order, Generation current)
      throws SwapRefusedException, IOException {
    if (store.distribution().flatMap(own -> own.find(order.symbolicName())).isPresent()) {
      throw new SwapRefusedException(
          "%s came with the distribution, and stays; \"plugin adopt\" runs the distribution's version, \"bundle stop\" stops it"
              .formatted(order.symbolicName()));
    }
    List<StoredPlugin> plugins =
        current.plugins().stream()
            .filter(each -> !each.symbolicName().equals(order.symbolicName()))
            .toList();
    if (plugins.size() == current.plugins().size()) {
      throw new SwapRefusedException(
          "the node runs no plugin \"" + order.symbolicName() + "\"; \"plugin list\" shows all");
    }
    return with(current, plugins, current.configuration());
  }

  private Generation adopted(SwapOrder.Adopt order, Generation current)
      throws SwapRefusedException, IOException {
    Generation distribution =
        store
            .distribution()
            .filter(own -> own.origin().equals(current.origin()))
            .orElseThrow(
                () ->
                    new SwapRefusedException(
                        "which plugins came with the distribution is not known on this node; restart it from its distribution"));
    List<StoredPlugin> plugins = new ArrayList<>(current.plugins());
    if (order.symbolicNames().isEmpty()) {
      for (StoredPlugin each : distribution.plugins()) {
        plugins.replaceAll(
            plugin -> plugin.symbolicName().equals(each.symbolicName()) ? each : plugin);
      }
    }
    for (String name : order.symbolicNames()) {
      StoredPlugin own = requireDistributed(distribution, name);
      plugins.removeIf(plugin -> plugin.symbolicName().equals(name));
      plugins.add(own);
    }
    return with(current, plugins, current.configuration());
  }

  private static StoredPlugin requireDistributed(Generation distribution, String name)
      throws SwapRefusedException {
    Optional<StoredPlugin> found = distribution.find(name);
    if (found.isPresent()) {
      return found.get();
    }
    List<String> names = distribution.plugins().stream().map(StoredPlugin::symbolicName).toList();
    throw new SwapRefusedException(
        "\"%s\" did not come with the distribution%s"
            .formatted(name, DidYouMean.among(name, names)));
  }

  private Generation configured(SwapOrder.Configure order, Generation current)
      throws SwapRefusedException, PluginStoreException, IOException {
    ConfigurationKeys keys = keys(current);
    ConfigurationSet configuration = current.configuration();
    for (Map.Entry<String, Optional<String>> each : order.values().entrySet()) {
      try {
        ConfigurationKeys.Split name = keys.split(each.getKey());
        requireOrgan(name.pid(), keys, current);
        if (each.getValue().isEmpty()) {
          configuration = configuration.without(name.pid(), name.key());
          continue;
        }
        keys.value(name.pid(), name.key(), each.getValue().get());
        configuration = configuration.with(name.pid(), name.key(), each.getValue().get());
      } catch (UnfitSettingException e) {
        throw new SwapRefusedException(e.getMessage(), e);
      }
    }
    return with(current, current.plugins(), configuration);
  }

  /** Refuses a configuration of the platform, which the swap itself needs. */
  private void requireOrgan(String pid, ConfigurationKeys all, Generation current)
      throws SwapRefusedException, PluginStoreException, IOException {
    List<Path> organs = new ArrayList<>();
    for (Path file : files(current).values()) {
      if (BundleManifest.read(file).exports().isEmpty()) {
        organs.add(file);
      }
    }
    boolean known = all.pids().contains(pid);
    if (known && !ConfigurationKeys.read(organs).pids().contains(pid)) {
      throw new SwapRefusedException(
          "%s belongs to the platform, which stands still while the process lives; this needs a new process: stop the node with \"polis down\", and give the key to \"polis up --set\""
              .formatted(pid));
    }
  }

  private Generation before(Generation current)
      throws SwapRefusedException, PluginStoreException, IOException {
    Generation previous =
        store
            .previous()
            .orElseThrow(
                () ->
                    new SwapRefusedException(
                        "generation %d is the first: there is none before it to go back to"
                            .formatted(current.number())));
    if (!previous.origin().equals(current.origin())) {
      throw new SwapRefusedException(
          "generation %d came with another distribution, whose platform this process does not run; this needs a new process: install that distribution, then \"polisctl node restart --runtime\""
              .formatted(previous.number()));
    }
    return with(current, previous.plugins(), previous.configuration());
  }

  private static Generation with(
      Generation current, List<StoredPlugin> plugins, ConfigurationSet configuration) {
    return new Generation(current.number(), current.origin(), plugins, configuration);
  }

  /** Reads the configuration keys of a generation's bundles. */
  ConfigurationKeys keys(Generation generation) throws PluginStoreException, IOException {
    return ConfigurationKeys.read(files(generation).values());
  }

  /** Refuses a generation that the next start of the process could not run. */
  void requireStartable(Generation generation)
      throws SwapRefusedException, PluginStoreException, IOException {
    List<BundleManifest> manifests = new ArrayList<>();
    for (Path file : files(generation).values()) {
      manifests.add(BundleManifest.read(file));
    }
    try {
      BootPlan.of(manifests, GIVEN);
    } catch (BootPlanException e) {
      throw new SwapRefusedException(e.getMessage(), e);
    }
    OrganConfigurations.check(generation.configuration(), keys(generation));
  }

  private Map<StoredPlugin, Path> files(Generation generation)
      throws PluginStoreException, IOException {
    Map<StoredPlugin, Path> files = new LinkedHashMap<>();
    for (StoredPlugin plugin : generation.plugins()) {
      files.put(plugin, store.verified(plugin));
    }
    return files;
  }

  /** Names plugins for people. */
  static String names(List<StoredPlugin> plugins) {
    return plugins.isEmpty()
        ? "no bundle"
        : plugins.stream()
            .map(plugin -> plugin.symbolicName() + " " + plugin.version())
            .collect(Collectors.joining(", "));
  }
}
