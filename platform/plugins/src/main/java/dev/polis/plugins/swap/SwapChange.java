package dev.polis.plugins.swap;

import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.StoredPlugin;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;

/**
 * What differs between the generation that runs and the one that is wanted.
 *
 * @param coming the plugins to install
 * @param going the bundles to stop
 * @param configured the keys of configurations to change
 */
record SwapChange(
    List<StoredPlugin> coming, List<Bundle> going, SortedSet<ConfigurationSet.Key> configured) {
  SwapChange {
    coming = List.copyOf(coming);
    going = List.copyOf(going);
  }

  static SwapChange between(Generation from, Generation to, FrameworkBundles bundles) {
    List<StoredPlugin> coming = new ArrayList<>(to.plugins());
    coming.removeAll(from.plugins());
    Set<String> leaving =
        from.plugins().stream()
            .filter(plugin -> !to.plugins().contains(plugin))
            .map(StoredPlugin::symbolicName)
            .collect(Collectors.toSet());
    List<Bundle> going =
        leaving.stream().sorted().flatMap(name -> bundles.named(name).stream()).toList();
    return new SwapChange(coming, going, from.configuration().difference(to.configuration()));
  }

  /** Whether a bundle of this name goes and another one comes. */
  boolean isReplaced(String symbolicName) {
    return coming.stream().anyMatch(plugin -> plugin.symbolicName().equals(symbolicName))
        && going.stream().anyMatch(bundle -> symbolicName.equals(bundle.getSymbolicName()));
  }

  /**
   * Returns the symbolic names of what changes. The PID of an organ's configuration is its bundle's
   * name.
   */
  Set<String> names() {
    return Stream.of(
            coming.stream().map(StoredPlugin::symbolicName),
            going.stream().map(Bundle::getSymbolicName),
            configured.stream().map(ConfigurationSet.Key::pid))
        .flatMap(each -> each)
        .collect(Collectors.toSet());
  }

  /** Whether nothing has to be done. */
  boolean isEmpty() {
    return coming.isEmpty() && going.isEmpty() && configured.isEmpty();
  }
}
