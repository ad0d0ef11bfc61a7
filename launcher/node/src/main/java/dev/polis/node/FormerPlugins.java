package dev.polis.node;

import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PackageRequirement;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.PluginRefusedException;
import dev.polis.plugins.manifest.SignedManifest;
import dev.polis.plugins.metatype.ConfigurationKeys;
import dev.polis.plugins.metatype.UnfitSettingException;
import dev.polis.plugins.plan.BootPlan;
import dev.polis.plugins.plan.BootPlanException;
import dev.polis.plugins.plan.BundleManifest;
import dev.polis.plugins.plan.ManifestHeader;
import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.store.StoredPlugin;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.osgi.framework.Constants;
import org.osgi.framework.Version;

/**
 * Decides what of a node's former generation stays when it is started from another distribution:
 * the plugins that swaps have brought, if they work with the new platform and the new bundles.
 *
 * <p>What a swap has brought is known by its signature: the bundles of a distribution have none.
 */
final class FormerPlugins {
  /** Packages that the JVM and the framework bring, which no distribution lists. */
  private static final Pattern GIVEN =
      Pattern.compile(
          "(java|javax|jdk|sun|com\\.sun|org\\.osgi|org\\.w3c|org\\.xml|org\\.ietf)\\..*");

  private final PluginStore store;
  private final SystemPackages systemPackages;
  private final Map<String, List<Version>> packages;
  private final Version platform;
  private final Consumer<String> screen;

  /**
   * @param packages of the new distribution
   * @param platform the version of the new platform
   * @param screen receives a line for each thing that does not stay
   */
  FormerPlugins(
      PluginStore store, SystemPackages packages, Version platform, Consumer<String> screen) {
    this.store = store;
    this.systemPackages = packages;
    this.packages = versions(packages);
    this.platform = platform;
    this.screen = screen;
  }

  private static Map<String, List<Version>> versions(SystemPackages packages) {
    Map<String, List<Version>> versions = new HashMap<>();
    for (ManifestHeader.Clause each : ManifestHeader.parse(String.join(",", packages.packages()))) {
      Object version = each.attributes().getOrDefault(Constants.VERSION_ATTRIBUTE, "0.0.0");
      versions
          .computeIfAbsent(each.name(), name -> new ArrayList<>())
          .add(Version.parseVersion(version.toString()));
    }
    return versions;
  }

  /**
   * Returns the plugins to run.
   *
   * @param own those of the new distribution
   * @param former those that ran before
   * @return the new ones; in place of them, or besides, those of the former ones that stay
   */
  List<StoredPlugin> merged(List<StoredPlugin> own, List<StoredPlugin> former) throws IOException {
    List<StoredPlugin> merged = new ArrayList<>(own);
    Map<StoredPlugin, String> waiting = new LinkedHashMap<>();
    for (StoredPlugin plugin : former) {
      if (!own.contains(plugin)) {
        check(plugin, waiting);
      }
    }
    // One may need what another one brings, so they are tried until none is added.
    boolean added = true;
    while (added) {
      added = false;
      for (StoredPlugin plugin : List.copyOf(waiting.keySet())) {
        List<StoredPlugin> with = replaced(merged, plugin);
        Optional<String> trouble = planTrouble(with);
        if (trouble.isEmpty()) {
          merged = with;
          waiting.remove(plugin);
          added = true;
        } else {
          waiting.put(plugin, trouble.get());
        }
      }
    }
    waiting.forEach(this::sayDropped);
    return merged;
  }

  /** Adds a plugin to those that wait for a place if a swap has brought it and it can be used. */
  private void check(StoredPlugin plugin, Map<StoredPlugin, String> waiting) throws IOException {
    try {
      Path file = store.verified(plugin);
      ManifestEnvelope envelope = ManifestEnvelope.read(file);
      if (!(envelope instanceof SignedManifest)) {
        return;
      }
      Optional<String> trouble = platformTrouble(envelope.content());
      if (trouble.isPresent()) {
        sayDropped(plugin, trouble.get());
      } else {
        waiting.put(plugin, "");
      }
    } catch (PluginRefusedException noManifest) {
      // It came with the former distribution, before manifests lay beside the files.
      return;
    } catch (PluginStoreException damaged) {
      sayDropped(plugin, damaged.getMessage());
    }
  }

  private Optional<String> platformTrouble(PluginManifest manifest) {
    if (platform.compareTo(manifest.minimumPlatform()) < 0) {
      return Optional.of(
          "it needs the platform in version %s or newer, and this is %s"
              .formatted(manifest.minimumPlatform(), platform));
    }
    return manifest.packages().stream()
        .filter(need -> !need.optional() && !GIVEN.matcher(need.name()).matches())
        .filter(need -> packages(need).stream().noneMatch(need.range()::includes))
        .findFirst()
        .map(this::missing);
  }

  private List<Version> packages(PackageRequirement need) {
    return packages.getOrDefault(need.name(), List.of());
  }

  private String missing(PackageRequirement need) {
    String there =
        packages(need).isEmpty()
            ? "no bundle exports"
            : "the platform exports in version "
                + packages(need).stream().map(Version::toString).collect(Collectors.joining(", "));
    return "it imports the package %s %s, which %s".formatted(need.name(), need.range(), there);
  }

  private static List<StoredPlugin> replaced(List<StoredPlugin> plugins, StoredPlugin by) {
    List<StoredPlugin> with = new ArrayList<>(plugins);
    with.removeIf(plugin -> plugin.symbolicName().equals(by.symbolicName()));
    with.add(by);
    return with;
  }

  private Optional<String> planTrouble(List<StoredPlugin> plugins) throws IOException {
    try {
      List<BundleManifest> manifests = new ArrayList<>();
      for (Path file : files(plugins)) {
        manifests.add(BundleManifest.read(file));
      }
      BootPlan.of(manifests, systemPackages.given());
      return Optional.empty();
    } catch (BootPlanException e) {
      return Optional.of(e.getMessage());
    }
  }

  private List<Path> files(List<StoredPlugin> plugins) {
    return plugins.stream()
        .map(plugin -> store.file(plugin.digest()))
        .flatMap(Optional::stream)
        .toList();
  }

  private void sayDropped(StoredPlugin plugin, String why) {
    screen.accept(
        "%s %s, which a swap brought, does not run with this distribution: %s"
            .formatted(plugin.symbolicName(), plugin.version(), why));
  }

  /** Returns the configurations that fit the keys of the plugins. */
  ConfigurationSet fitting(ConfigurationSet former, List<StoredPlugin> plugins) throws IOException {
    ConfigurationKeys keys = ConfigurationKeys.read(files(plugins));
    ConfigurationSet fitting = former;
    for (ConfigurationSet.Key key : former.keys()) {
      try {
        keys.value(key.pid(), key.key(), former.value(key).orElseThrow());
      } catch (UnfitSettingException e) {
        screen.accept(
            "the configuration %s=%s does not fit this distribution and is given up: %s"
                .formatted(key, former.value(key).orElseThrow(), e.getMessage()));
        fitting = fitting.without(key.pid(), key.key());
      }
    }
    return fitting;
  }
}
