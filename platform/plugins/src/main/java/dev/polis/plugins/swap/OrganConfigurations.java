package dev.polis.plugins.swap;

import dev.polis.plugins.metatype.ConfigurationKeys;
import dev.polis.plugins.metatype.UnfitSettingException;
import dev.polis.plugins.store.ConfigurationSet;
import java.io.IOException;
import java.util.Collection;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.osgi.framework.Bundle;
import org.osgi.framework.Constants;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.service.cm.Configuration;
import org.osgi.service.cm.ConfigurationAdmin;

/**
 * Changes configurations of the running node. A generation's value overrules the command line's;
 * without either, the organ's default counts.
 */
final class OrganConfigurations {
  private final ConfigurationAdmin admin;
  private final ConfigurationSet commandLine;

  /**
   * @param commandLine the configurations of the command line
   */
  OrganConfigurations(ConfigurationAdmin admin, ConfigurationSet commandLine) {
    this.admin = admin;
    this.commandLine = commandLine;
  }

  ConfigurationSet commandLine() {
    return commandLine;
  }

  /**
   * Checks all keys of a generation.
   *
   * @throws SwapRefusedException naming the first key that its bundles lack, or whose value does
   *     not fit
   */
  static void check(ConfigurationSet wanted, ConfigurationKeys keys) throws SwapRefusedException {
    for (ConfigurationSet.Key key : wanted.keys()) {
      try {
        keys.value(key.pid(), key.key(), wanted.value(key).orElseThrow());
      } catch (UnfitSettingException e) {
        throw new SwapRefusedException(
            "the configuration %s=%s, which goes with it, cannot be read by its bundles: %s; take the key back first with \"polisctl config unset %s\""
                .formatted(key, wanted.value(key).orElseThrow(), e.getMessage(), key),
            e);
      }
    }
  }

  /**
   * Checks that the next start of the process can read its command line.
   *
   * @param now the keys of the running bundles
   * @param then the keys of the wanted bundles
   * @throws SwapRefusedException naming the first key of the command line that only the running
   *     ones can read
   */
  void requireCommandLine(ConfigurationKeys now, ConfigurationKeys then)
      throws SwapRefusedException {
    for (ConfigurationSet.Key key : commandLine.keys()) {
      String value = commandLine.value(key).orElseThrow();
      Optional<String> trouble = unfit(key, value, then);
      if (trouble.isPresent() && unfit(key, value, now).isEmpty()) {
        throw new SwapRefusedException(
            "the process was started with %s=%s, which cannot be read by the bundles that are wanted: %s; the next start would be refused, so start the process without it first"
                .formatted(key, value, trouble.get()));
      }
    }
  }

  private static Optional<String> unfit(
      ConfigurationSet.Key key, String value, ConfigurationKeys keys) {
    try {
      keys.value(key.pid(), key.key(), value);
      return Optional.empty();
    } catch (UnfitSettingException e) {
      return Optional.of(e.getMessage());
    }
  }

  /**
   * Gives a successor the values of a generation before its start, while its predecessor keeps its
   * own. It uses a PID for that bundle alone, which overrules the common one.
   */
  void prepare(
      Bundle successor,
      Collection<ConfigurationSet.Key> changed,
      ConfigurationSet wanted,
      ConfigurationKeys keys)
      throws IOException, UnfitSettingException {
    for (String pid : pids(changed)) {
      Map<ConfigurationSet.Key, Object> values = values(pid, changed, wanted, keys);
      admin.getConfiguration(targeted(pid, successor), null).update(changed(pid, changed, values));
    }
  }

  /** Removes the prepared values of removed bundles. */
  void forget(Collection<Bundle> gone) throws IOException {
    Set<String> suffixes =
        gone.stream().map(each -> targeted("", each)).collect(Collectors.toSet());
    for (Configuration each : all()) {
      if (suffixes.stream().anyMatch(each.getPid()::endsWith)) {
        each.delete();
      }
    }
  }

  private List<Configuration> all() throws IOException {
    try {
      Configuration[] found = admin.listConfigurations(null);
      return found == null ? List.of() : List.of(found);
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException("no filter was given", e);
    }
  }

  /** Returns the PID of a configuration for one bundle, as OSGi defines it. */
  private static String targeted(String pid, Bundle bundle) {
    return String.join(
        "|", pid, bundle.getSymbolicName(), bundle.getVersion().toString(), bundle.getLocation());
  }

  private static Set<String> pids(Collection<ConfigurationSet.Key> keys) {
    return keys.stream().map(ConfigurationSet.Key::pid).collect(Collectors.toSet());
  }

  /**
   * Gives keys the values of a generation.
   *
   * @return the values that components will read, without keys that have the organ's default
   */
  Map<ConfigurationSet.Key, Object> apply(
      Collection<ConfigurationSet.Key> changed, ConfigurationSet wanted, ConfigurationKeys keys)
      throws IOException, UnfitSettingException {
    Map<ConfigurationSet.Key, Object> all = new LinkedHashMap<>();
    for (String pid : pids(changed)) {
      Map<ConfigurationSet.Key, Object> values = values(pid, changed, wanted, keys);
      admin.getConfiguration(pid, null).update(changed(pid, changed, values));
      all.putAll(values);
    }
    return all;
  }

  /** Returns a generation's values for the changed keys of a PID. */
  private Map<ConfigurationSet.Key, Object> values(
      String pid,
      Collection<ConfigurationSet.Key> changed,
      ConfigurationSet wanted,
      ConfigurationKeys keys)
      throws UnfitSettingException {
    Map<ConfigurationSet.Key, Object> values = new LinkedHashMap<>();
    for (ConfigurationSet.Key key : changed) {
      Optional<String> text = wanted.value(key).or(() -> commandLine.value(key));
      if (key.pid().equals(pid) && text.isPresent()) {
        values.put(key, keys.value(pid, key.key(), text.get()));
      }
    }
    return values;
  }

  /** Returns all properties of a PID, with new values for the changed keys. */
  private Dictionary<String, Object> changed(
      String pid,
      Collection<ConfigurationSet.Key> changed,
      Map<ConfigurationSet.Key, Object> values)
      throws IOException {
    Dictionary<String, Object> former = admin.getConfiguration(pid, null).getProperties();
    Dictionary<String, Object> next = new Hashtable<>();
    if (former != null) {
      former.keys().asIterator().forEachRemaining(key -> next.put(key, former.get(key)));
      // The configuration that gets the properties has its own PID.
      next.remove(Constants.SERVICE_PID);
    }
    changed.stream().filter(key -> key.pid().equals(pid)).forEach(key -> next.remove(key.key()));
    values.forEach((key, value) -> next.put(key.key(), value));
    return next;
  }
}
