package dev.polis.plugins.store;

import dev.polis.files.AtomicFile;
import dev.polis.files.AtomicFile.Durability;
import dev.polis.files.Mode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Records beside the store the reason why each plugin runs. A swap writes its note before its
 * commit, so that no death of the process loses it; a note about a plugin that does not run has no
 * effect.
 */
public final class PluginOrigins {
  /** The most notes, far more than a node has plugins; the oldest is dropped first. */
  private static final int KEPT = 500;

  /** The sign in place of the digest of a removed plugin. */
  private static final String ABSENT = "-";

  private static final String CLUSTER = "cluster";
  private static final String HAND = "hand";
  private static final String OVERRULES = "overrules:";

  private final Path file;

  private PluginOrigins(Path file) {
    this.file = file;
  }

  /**
   * Opens the notes of a store.
   *
   * @param store the store
   * @return the notes
   */
  public static PluginOrigins of(PluginStore store) {
    return new PluginOrigins(store.folder().resolve("origins"));
  }

  /**
   * Records why the plugins run in which two generations differ.
   *
   * @param current the running generation
   * @param target the next generation
   * @param byCluster true if the node fulfils a wish of the cluster; otherwise an operator ordered
   *     it
   * @param wants the cluster's wishes
   * @throws IOException if the write fails
   */
  public synchronized void note(
      Generation current, Generation target, boolean byCluster, ClusterWants wants)
      throws IOException {
    Map<String, String> lines = read();
    List<String> changed = new ArrayList<>();
    target.plugins().stream()
        .filter(plugin -> !current.plugins().contains(plugin))
        .forEach(plugin -> changed.add(key(plugin)));
    current.plugins().stream()
        .map(StoredPlugin::symbolicName)
        .filter(name -> target.find(name).isEmpty())
        .forEach(name -> changed.add(key(name, ABSENT)));
    for (String key : changed) {
      lines.remove(key);
      lines.put(key, word(key, byCluster, wants));
    }
    if (!changed.isEmpty()) {
      write(lines);
    }
  }

  /**
   * Records that the cluster wants running plugins, so that the node removes them later as it
   * removes the cluster's own.
   *
   * @param running the running generation
   * @param wants the cluster's wishes
   * @throws IOException if it cannot be written
   */
  public synchronized void claim(Generation running, ClusterWants wants) throws IOException {
    Map<String, String> lines = read();
    boolean changed = false;
    for (ClusterWants.Wanted each : wants.here()) {
      String key = key(each.plugin());
      if (running.plugins().contains(each.plugin()) && !CLUSTER.equals(lines.get(key))) {
        lines.put(key, CLUSTER);
        changed = true;
      }
    }
    if (changed) {
      write(lines);
    }
  }

  private static String word(String key, boolean byCluster, ClusterWants wants) {
    if (byCluster) {
      return CLUSTER;
    }
    String[] words = key.split(" ", 2);
    return wants
        .find(words[0])
        .map(wanted -> wanted.plugin().digest().hex())
        .filter(wanted -> !wanted.equals(words[1]))
        .map(wanted -> OVERRULES + wanted)
        .orElse(HAND);
  }

  /**
   * Returns the origin of each running plugin, by symbolic name.
   *
   * @param running the running generation
   * @param distribution the plugins of the node's distribution
   * @return the origins, also of plugins that an operator removed although the cluster wants them
   * @throws IOException if it cannot be read
   */
  public synchronized Map<String, PluginOrigin> of(
      Generation running, List<StoredPlugin> distribution) throws IOException {
    Map<String, String> lines = read();
    Map<String, PluginOrigin> origins = new TreeMap<>();
    lines.forEach(
        (key, word) -> {
          String[] words = key.split(" ", 2);
          if (words[1].equals(ABSENT) && running.find(words[0]).isEmpty()) {
            overruling(word).ifPresent(origin -> origins.put(words[0], origin));
          }
        });
    for (StoredPlugin plugin : running.plugins()) {
      Optional<String> word = Optional.ofNullable(lines.get(key(plugin)));
      origins.put(plugin.symbolicName(), origin(word.orElse(""), distribution.contains(plugin)));
    }
    return origins;
  }

  private static PluginOrigin origin(String word, boolean distributed) {
    Optional<PluginOrigin> overruling = overruling(word);
    if (overruling.isPresent()) {
      return overruling.get();
    }
    if (distributed) {
      return new PluginOrigin.FromDistribution();
    }
    return word.equals(CLUSTER) ? new PluginOrigin.FromCluster() : new PluginOrigin.ByHand();
  }

  private static Optional<PluginOrigin> overruling(String word) {
    if (!word.startsWith(OVERRULES)) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          new PluginOrigin.Overruling(new Digest(word.substring(OVERRULES.length()))));
    } catch (IllegalArgumentException garbled) {
      return Optional.empty();
    }
  }

  /** Reads the notes in their order, without garbled lines, since no note decides about data. */
  private Map<String, String> read() throws IOException {
    Map<String, String> lines = new LinkedHashMap<>();
    try {
      for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
        String[] words = line.split(" ", -1);
        if (words.length == 3) {
          lines.put(key(words[0], words[1]), words[2]);
        }
      }
      return lines;
    } catch (NoSuchFileException never) {
      return lines;
    }
  }

  private void write(Map<String, String> notes) throws IOException {
    List<String> lines = new ArrayList<>();
    notes.forEach((key, word) -> lines.add(key + " " + word));
    String text =
        String.join("\n", lines.subList(Math.max(0, lines.size() - KEPT), lines.size())) + "\n";
    AtomicFile.replace(
        file, text.getBytes(StandardCharsets.UTF_8), Mode.SECRET, Durability.POWER_LOSS);
  }

  private static String key(StoredPlugin plugin) {
    return key(plugin.symbolicName(), plugin.digest().hex());
  }

  private static String key(String name, String digest) {
    return name + " " + digest;
  }
}
