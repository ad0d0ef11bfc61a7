package dev.polis.plugins.swap;

import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.StoredPlugin;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;

/**
 * Holds the differences between the running and the wanted generation.
 *
 * @param coming the plugins to install
 * @param going the bundles to stop; a bundle that reads a changed configuration is in both
 * @param configured the keys of configurations to change
 */
record SwapChange(
    List<StoredPlugin> coming, List<Bundle> going, SortedSet<ConfigurationSet.Key> configured) {
  SwapChange {
    coming = List.copyOf(coming);
    going = List.copyOf(going);
  }

  /**
   * @param running finds the bundles of a symbolic name that run in the first generation
   * @param readers names the readers of some PIDs
   */
  static SwapChange between(
      Generation from,
      Generation to,
      Function<String, List<Bundle>> running,
      Function<Set<String>, Set<String>> readers) {
    SortedSet<ConfigurationSet.Key> configured =
        from.configuration().difference(to.configuration());
    Set<String> reading =
        readers.apply(
            configured.stream().map(ConfigurationSet.Key::pid).collect(Collectors.toSet()));
    List<StoredPlugin> coming =
        to.plugins().stream()
            .filter(each -> !from.plugins().contains(each) || reading.contains(each.symbolicName()))
            .toList();
    Set<String> leaving =
        from.plugins().stream()
            .filter(each -> !to.plugins().contains(each) || reading.contains(each.symbolicName()))
            .map(StoredPlugin::symbolicName)
            .collect(Collectors.toSet());
    List<Bundle> going =
        leaving.stream().sorted().flatMap(name -> running.apply(name).stream()).toList();
    return new SwapChange(coming, going, configured);
  }

  /** Returns whether a bundle of this name has a successor. */
  boolean isReplaced(String symbolicName) {
    return coming.stream().anyMatch(plugin -> plugin.symbolicName().equals(symbolicName))
        && going.stream().anyMatch(bundle -> symbolicName.equals(bundle.getSymbolicName()));
  }

  /**
   * Returns the symbolic names of the changed bundles; the PID of an organ's configuration is its
   * bundle's name.
   */
  Set<String> names() {
    return Stream.of(
            coming.stream().map(StoredPlugin::symbolicName),
            going.stream().map(Bundle::getSymbolicName),
            configured.stream().map(ConfigurationSet.Key::pid))
        .flatMap(each -> each)
        .collect(Collectors.toSet());
  }
}
