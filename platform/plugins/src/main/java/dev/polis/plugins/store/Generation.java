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
 * Holds one complete set of plugins with their configurations.
 *
 * @param number the number, which counts up from 1; a generation never changes once it was the
 *     current one
 * @param origin the digest of the distribution from which this line of generations began; swaps of
 *     single plugins keep it
 * @param plugins the plugins, sorted by symbolic name, then version, all different
 * @param configuration the configurations set on the running node; they overrule the command line
 */
public record Generation(
    long number, Digest origin, List<StoredPlugin> plugins, ConfigurationSet configuration) {
  private static final String HEADER = "polis generation 1";
  private static final Comparator<StoredPlugin> ORDER =
      Comparator.comparing(StoredPlugin::symbolicName).thenComparing(StoredPlugin::version);

  /**
   * Creates a generation without configurations.
   *
   * @param number the number, which counts up from 1
   * @param origin the digest of the distribution
   * @param plugins the plugins, all different in name or version
   */
  public Generation(long number, Digest origin, List<StoredPlugin> plugins) {
    this(number, origin, plugins, ConfigurationSet.none());
  }

  /**
   * @throws IllegalArgumentException if the number is not positive, or the set is empty or contains
   *     a plugin twice
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
   * Finds the plugin of a symbolic name, the last one of several versions.
   *
   * @param symbolicName the symbolic name of a plugin
   * @return empty if the generation has no plugin of that name
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
   * Returns a digest of the content: it is equal for generations with the same plugins and
   * configurations on the same distribution, whatever their numbers.
   *
   * @return the digest, for comparisons only
   */
  public Digest fingerprint() {
    return Digest.of(
        new Generation(1, origin, plugins, configuration)
            .encode()
            .getBytes(StandardCharsets.UTF_8));
  }

  /**
   * @param text a text from {@link #encode}
   * @return the generation
   * @throws IllegalArgumentException for any other text, with the wrong line
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
