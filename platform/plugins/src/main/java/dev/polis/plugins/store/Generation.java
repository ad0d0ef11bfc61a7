package dev.polis.plugins.store;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * Holds one complete set of plugins and the configurations that go with them.
 *
 * @param number counts up from 1; once it was the current one it is never changed
 * @param origin the digest of the distribution this line of generations was seeded from; swaps of
 *     single plugins keep it
 * @param plugins sorted by symbolic name, then version; no two alike in both
 * @param configuration what was configured on the running node; it goes before the command line
 */
public record Generation(
    long number, Digest origin, List<StoredPlugin> plugins, ConfigurationSet configuration) {
  private static final String HEADER = "polis generation 1";
  private static final Comparator<StoredPlugin> ORDER =
      Comparator.comparing(StoredPlugin::symbolicName).thenComparing(StoredPlugin::version);

  /**
   * Makes a generation without configurations.
   *
   * @param number counts up from 1
   * @param origin the digest of the distribution
   * @param plugins no two alike in name and version
   */
  public Generation(long number, Digest origin, List<StoredPlugin> plugins) {
    this(number, origin, plugins, ConfigurationSet.none());
  }

  /**
   * @throws IllegalArgumentException if the number is not positive, the set is empty or holds one
   *     plugin twice
   */
  public Generation {
    Objects.requireNonNull(origin, "origin");
    Objects.requireNonNull(configuration, "configuration");
    if (number < 1) {
      throw new IllegalArgumentException("generations count from 1, this is " + number);
    }
    if (plugins.isEmpty()) {
      throw new IllegalArgumentException("generation " + number + " holds no plugin");
    }
    plugins = plugins.stream().sorted(ORDER).toList();
    Set<String> seen = new HashSet<>();
    for (StoredPlugin plugin : plugins) {
      if (!seen.add(plugin.symbolicName() + " " + plugin.version())) {
        throw new IllegalArgumentException(
            "generation "
                + number
                + " holds "
                + plugin.symbolicName()
                + " "
                + plugin.version()
                + " twice");
      }
    }
  }

  /**
   * Finds the plugin of a symbolic name. Of several versions it is the last one.
   *
   * @param symbolicName of a plugin
   * @return empty if it has none of that name
   */
  public Optional<StoredPlugin> find(String symbolicName) {
    return plugins.stream()
        .filter(plugin -> plugin.symbolicName().equals(symbolicName))
        .reduce((first, second) -> second);
  }

  /**
   * @return the text of its file
   */
  String encode() {
    StringBuilder text = new StringBuilder(HEADER).append('\n');
    text.append(number).append(' ').append(origin).append('\n');
    for (StoredPlugin plugin : plugins) {
      text.append(plugin.symbolicName())
          .append(' ')
          .append(plugin.version())
          .append(' ')
          .append(plugin.digest())
          .append('\n');
    }
    configuration.encode().forEach(line -> text.append(line).append('\n'));
    return text.toString();
  }

  /**
   * Returns a digest of what runs with this generation: two generations with the same plugins and
   * configurations on the same distribution have the same, whatever their numbers.
   *
   * @return for comparisons only
   */
  public Digest fingerprint() {
    return Digest.of(
        new Generation(1, origin, plugins, configuration)
            .encode()
            .getBytes(StandardCharsets.UTF_8));
  }

  /**
   * @param text what {@link #encode} wrote
   * @return the generation
   * @throws IllegalArgumentException if it is anything else, with the line that is wrong
   */
  static Generation decode(String text) {
    List<String> lines = text.lines().toList();
    if (lines.size() < 2 || !lines.getFirst().equals(HEADER)) {
      throw new IllegalArgumentException("it does not begin with \"" + HEADER + "\"");
    }
    String[] head = words(lines.get(1), 2);
    List<StoredPlugin> plugins = new ArrayList<>();
    ConfigurationSet configuration = ConfigurationSet.none();
    for (String line : lines.subList(2, lines.size())) {
      if (line.startsWith(ConfigurationSet.SETTING + " ") && line.split(" ", -1).length == 4) {
        configuration = configuration.with(line);
        continue;
      }
      String[] words = words(line, 3);
      plugins.add(new StoredPlugin(words[0], words[1], new Digest(words[2])));
    }
    return new Generation(Long.parseLong(head[0]), new Digest(head[1]), plugins, configuration);
  }

  private static String[] words(String line, int count) {
    String[] words = line.split(" ", -1);
    if (words.length != count) {
      throw new IllegalArgumentException(
          "the line \"" + line + "\" has " + words.length + " words, not " + count);
    }
    return words;
  }
}
