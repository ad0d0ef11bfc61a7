package dev.polis.plugins.store;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Holds the configurations of organs that belong to a generation: for each PID its keys with their
 * values as texts, as a person types them.
 *
 * <p>They are texts because the bundle that declares their types belongs to the generation too: the
 * one that runs decides what a text means.
 *
 * @param byPid keys and values by PID; a PID without keys is left out
 */
public record ConfigurationSet(SortedMap<String, SortedMap<String, String>> byPid) {
  private static final ConfigurationSet NONE = new ConfigurationSet(new TreeMap<>());

  /**
   * One key of one PID.
   *
   * @param pid whose configuration
   * @param key what of it
   */
  public record Key(String pid, String key) implements Comparable<Key> {
    @Override
    public int compareTo(Key other) {
      int byPid = pid.compareTo(other.pid);
      return byPid != 0 ? byPid : key.compareTo(other.key);
    }

    @Override
    public String toString() {
      return pid + "." + key;
    }
  }

  /** Copies the maps. */
  public ConfigurationSet {
    SortedMap<String, SortedMap<String, String>> copy = new TreeMap<>();
    byPid.forEach(
        (pid, values) -> {
          if (!values.isEmpty()) {
            copy.put(pid, Collections.unmodifiableSortedMap(new TreeMap<>(values)));
          }
        });
    byPid = Collections.unmodifiableSortedMap(copy);
  }

  /**
   * Returns a set without a single key.
   *
   * @return the empty set
   */
  public static ConfigurationSet none() {
    return NONE;
  }

  /**
   * Returns this set with one key changed.
   *
   * @param pid whose configuration
   * @param key what of it
   * @param value as a person types it
   * @return another set
   */
  public ConfigurationSet with(String pid, String key, String value) {
    SortedMap<String, SortedMap<String, String>> copy = mutable();
    copy.computeIfAbsent(pid, each -> new TreeMap<>()).put(key, value);
    return new ConfigurationSet(copy);
  }

  /**
   * Returns this set without one key; the organ then has the value it had without a generation.
   *
   * @param pid whose configuration
   * @param key what of it
   * @return another set
   */
  public ConfigurationSet without(String pid, String key) {
    SortedMap<String, SortedMap<String, String>> copy = mutable();
    copy.getOrDefault(pid, new TreeMap<>()).remove(key);
    return new ConfigurationSet(copy);
  }

  /**
   * Returns the value of a key.
   *
   * @param key which
   * @return empty if this set does not say
   */
  public Optional<String> value(Key key) {
    return Optional.ofNullable(byPid.getOrDefault(key.pid(), new TreeMap<>()).get(key.key()));
  }

  /**
   * Returns the keys in order.
   *
   * @return all keys of all PIDs
   */
  public SortedSet<Key> keys() {
    SortedSet<Key> keys = new TreeSet<>();
    byPid.forEach((pid, values) -> values.keySet().forEach(key -> keys.add(new Key(pid, key))));
    return keys;
  }

  /**
   * Finds the keys in which two sets differ.
   *
   * @param other another set
   * @return keys that one has and the other has not, or with other values
   */
  public SortedSet<Key> difference(ConfigurationSet other) {
    SortedSet<Key> all = keys();
    all.addAll(other.keys());
    all.removeIf(key -> value(key).equals(other.value(key)));
    return all;
  }

  /** Returns the lines of a generation's file that hold this set. */
  List<String> encode() {
    List<String> lines = new ArrayList<>();
    for (Key key : keys()) {
      String value = URLEncoder.encode(value(key).orElseThrow(), StandardCharsets.UTF_8);
      // A mark before the value keeps an empty one from being no word at all.
      lines.add(SETTING + " " + key.pid() + " " + key.key() + " =" + value);
    }
    return lines;
  }

  /** The first word of a line that sets a key. */
  static final String SETTING = "set";

  /**
   * Reads a line back.
   *
   * @throws IllegalArgumentException if {@link #encode} did not write it
   */
  ConfigurationSet with(String line) {
    String[] words = line.split(" ", -1);
    if (words.length != 4 || !words[0].equals(SETTING) || !words[3].startsWith("=")) {
      throw new IllegalArgumentException("the line \"" + line + "\" sets nothing");
    }
    String value = URLDecoder.decode(words[3].substring(1), StandardCharsets.UTF_8);
    return with(words[1], words[2], value);
  }

  private SortedMap<String, SortedMap<String, String>> mutable() {
    SortedMap<String, SortedMap<String, String>> copy = new TreeMap<>();
    for (Map.Entry<String, SortedMap<String, String>> entry : byPid.entrySet()) {
      copy.put(entry.getKey(), new TreeMap<>(entry.getValue()));
    }
    return copy;
  }
}
