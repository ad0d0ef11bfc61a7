package dev.polis.node.options;

import dev.polis.node.exit.Exit;
import dev.polis.node.exit.Refusal;
import dev.polis.plugins.metatype.ConfigurationKeys;
import dev.polis.plugins.metatype.UnfitSettingException;
import dev.polis.plugins.store.ConfigurationSet;
import java.util.ArrayList;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Collects the settings of organs from the command line, and makes configuration dictionaries of
 * them.
 */
final class NodeSettings {

  /** A value for one key; what asked for it is kept for refusals. */
  private record Setting(String pid, String key, String text, String askedBy) {}

  private final List<Setting> settings = new ArrayList<>();

  /**
   * @param option whose value it is, for refusals
   */
  void set(String pid, String key, String text, String option) {
    settings.add(new Setting(pid, key, text, option));
  }

  /**
   * Sets a key that the command line does not name. It is left out if no bundle has such a key.
   *
   * @param option whose value it is, for refusals
   */
  void imply(String pid, String key, String text, String option, ConfigurationKeys keys) {
    if (!keys.of(pid).isEmpty()) {
      set(pid, key, text, option);
    }
  }

  /**
   * @param assignment {@code PID.key=value}; since both may hold dots, the keys that exist decide
   *     where the PID ends
   * @throws Refusal if it has no such form
   */
  void assign(String assignment, ConfigurationKeys keys) throws Refusal {
    int equals = assignment.indexOf('=');
    String name = equals < 0 ? "" : assignment.substring(0, equals);
    if (name.indexOf('.') < 0) {
      throw new Refusal(
          Exit.USAGE,
          "--set " + assignment + ": write PID.key=value, as dev.polis.curator.port=7835",
          null);
    }
    try {
      ConfigurationKeys.Split split = keys.split(name);
      settings.add(
          new Setting(split.pid(), split.key(), assignment.substring(equals + 1), "--set"));
    } catch (UnfitSettingException e) {
      throw new Refusal(Exit.USAGE, "--set " + assignment + ": " + e.getMessage(), e);
    }
  }

  /** Returns what was said, as texts; of several values for one key the last counts. */
  ConfigurationSet texts() {
    ConfigurationSet texts = ConfigurationSet.none();
    for (Setting setting : settings) {
      texts = texts.with(setting.pid(), setting.key(), setting.text());
    }
    return texts;
  }

  /**
   * @param keys what the bundles declare
   * @return dictionaries by PID; of several values for one key the last counts
   * @throws Refusal naming the option and what may have been meant
   */
  Map<String, Dictionary<String, Object>> resolve(ConfigurationKeys keys) throws Refusal {
    Map<String, Dictionary<String, Object>> resolved = new TreeMap<>();
    for (Setting setting : settings) {
      Object value;
      try {
        value = keys.value(setting.pid(), setting.key(), setting.text());
      } catch (UnfitSettingException e) {
        throw new Refusal(setting.askedBy() + ": " + e.getMessage(), e);
      }
      resolved.computeIfAbsent(setting.pid(), pid -> new Hashtable<>()).put(setting.key(), value);
    }
    return resolved;
  }
}
