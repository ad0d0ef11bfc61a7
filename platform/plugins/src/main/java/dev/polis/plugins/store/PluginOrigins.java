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
 * Keeps beside the store how the plugins that a swap brought came to run. A note is written before
 * the swap is committed, so that it is there whenever the process dies; one about a plugin that
 * does not run says nothing.
 */
public final class PluginOrigins {
  /** Far more than any node has plugins; the oldest is forgotten first. */
  private static final int KEPT = 500;

  /** Stands for the digest where a plugin was taken away. */
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
   * @param store beside which they lie
   * @return the notes
   */
  public static PluginOrigins of(PluginStore store) {
    return new PluginOrigins(store.folder().resolve("origins"));
  }

  /**
   * Notes how the plugins come to run in which two generations differ.
   *
   * @param current what runs
   * @param target what is to run
   * @param byCluster whether the node does what the cluster wants; otherwise an operator ordered it
   * @param wants what the cluster wants of this node
   * @throws IOException if it cannot be written
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
   * Notes that the cluster wants what runs, however it came to run: when it wants it no more, the
   * node goes back as it does after a plugin that the cluster brought.
   *
   * @param running the generation that runs
   * @param wants what the cluster wants of this node
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
   * Returns how each of the plugins that run came to run, by symbolic name.
   *
   * @param running the generation that runs
   * @param distribution what came with the node's distribution
   * @return also the names of plugins that an operator removed although the cluster wants them
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

  /** Reads the notes in their order; a garbled line is left out, since none decides about data. */
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
