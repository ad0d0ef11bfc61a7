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
 * Holds the configurations of a generation: for each PID its keys with their values as texts from a
 * person.
 *
 * <p>The values are texts because the bundle that declares their types belongs to the generation
 * too: the running bundle decides the meaning of a text.
 *
 * @param byPid the keys and values by PID, without PIDs that have no key
 */
public record ConfigurationSet(SortedMap<String, SortedMap<String, String>> byPid) {
  private static final ConfigurationSet NONE = new ConfigurationSet(new TreeMap<>());

  /**
   * Is one key of one PID.
   *
   * @param pid the PID
   * @param key the key
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
   * Returns an empty set.
   *
   * @return the empty set
   */
  public static ConfigurationSet none() {
    return NONE;
  }

  /**
   * Returns this set with one changed key.
   *
   * @param pid the PID
   * @param key the key
   * @param value the value from a person's input
   * @return another set
   */
  public ConfigurationSet with(String pid, String key, String value) {
    SortedMap<String, SortedMap<String, String>> copy = mutable();
    copy.computeIfAbsent(pid, each -> new TreeMap<>()).put(key, value);
    return new ConfigurationSet(copy);
  }

  /**
   * Returns this set without one key; the organ then has the key's value from outside the
   * generation.
   *
   * @param pid the PID
   * @param key the key
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
   * @param key the key
   * @return empty if this set lacks it
   */
  public Optional<String> value(Key key) {
    return Optional.ofNullable(byPid.getOrDefault(key.pid(), new TreeMap<>()).get(key.key()));
  }

  public SortedSet<Key> keys() {
    SortedSet<Key> keys = new TreeSet<>();
    byPid.forEach((pid, values) -> values.keySet().forEach(key -> keys.add(new Key(pid, key))));
    return keys;
  }

  /**
   * Finds the keys that differ between two sets.
   *
   * @param other another set
   * @return the keys that only one set has, or that have different values
   */
  public SortedSet<Key> difference(ConfigurationSet other) {
    SortedSet<Key> all = keys();
    all.addAll(other.keys());
    all.removeIf(key -> value(key).equals(other.value(key)));
    return all;
  }

  /** Returns this set as lines of a generation's file. */
  List<String> encode() {
    List<String> lines = new ArrayList<>();
    for (Key key : keys()) {
      String value = URLEncoder.encode(value(key).orElseThrow(), StandardCharsets.UTF_8);
      // The mark before the value makes an empty value a word.
      lines.add(SETTING + " " + key.pid() + " " + key.key() + " =" + value);
    }
    return lines;
  }

  /** The first word of a line that sets a key. */
  static final String SETTING = "set";

  /**
   * Reads a line and returns this set with its key.
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
