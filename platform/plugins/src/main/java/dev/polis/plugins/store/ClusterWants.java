package dev.polis.plugins.store;

import dev.polis.files.AtomicFile;
import dev.polis.files.AtomicFile.Durability;
import dev.polis.files.Mode;
import java.io.IOException;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * Holds the plugins that the cluster wants, by the last news that this node received. A file beside
 * the store keeps it, so that manual swaps and the collection of files heed it while the cluster is
 * away.
 *
 * @param here the wanted plugins of this node, with different symbolic names
 * @param anywhere the digests of the wanted plugins of all nodes
 */
public record ClusterWants(List<Wanted> here, Set<Digest> anywhere) {
  /** The value of a cluster without wishes. */
  public static final ClusterWants NONE = new ClusterWants(List.of(), Set.of());

  private static final String FILE = "wanted";
  private static final String HERE = "here";
  private static final String ANYWHERE = "anywhere";

  /**
   * Is a plugin that the cluster wants on this node.
   *
   * @param plugin the plugin
   * @param scope the wish's scope, such as {@code on each node}
   */
  public record Wanted(StoredPlugin plugin, String scope) {
    public Wanted {
      Objects.requireNonNull(plugin, "plugin");
      Objects.requireNonNull(scope, "scope");
    }
  }

  /** Copies the collections. */
  public ClusterWants {
    here = List.copyOf(here);
    anywhere = Set.copyOf(anywhere);
  }

  /**
   * Finds the wanted plugin of this node with a symbolic name.
   *
   * @param symbolicName the symbolic name of a plugin
   * @return empty if the cluster wants no plugin of that name
   */
  public Optional<Wanted> find(String symbolicName) {
    return here.stream()
        .filter(each -> each.plugin().symbolicName().equals(symbolicName))
        .findFirst();
  }

  /**
   * Reads the wishes beside a store. It omits a garbled line, since the curator sends the whole set
   * with each connection.
   *
   * @param store the store
   * @return {@link #NONE} if there is no file
   * @throws IOException if it cannot be read
   */
  public static ClusterWants read(PluginStore store) throws IOException {
    return read(store.folder());
  }

  static ClusterWants read(Path folder) throws IOException {
    List<Wanted> here = new ArrayList<>();
    Set<Digest> anywhere = new HashSet<>();
    try {
      for (String line : Files.readAllLines(folder.resolve(FILE), StandardCharsets.UTF_8)) {
        read(line, here, anywhere);
      }
    } catch (NoSuchFileException never) {
      return NONE;
    }
    return new ClusterWants(here, anywhere);
  }

  private static void read(String line, List<Wanted> here, Set<Digest> anywhere) {
    String[] words = line.split(" ", -1);
    try {
      if (words.length == 5 && words[0].equals(HERE)) {
        here.add(
            new Wanted(
                new StoredPlugin(words[1], words[2], new Digest(words[3])),
                URLDecoder.decode(words[4], StandardCharsets.UTF_8)));
      } else if (words.length == 2 && words[0].equals(ANYWHERE)) {
        anywhere.add(new Digest(words[1]));
      }
    } catch (IllegalArgumentException garbled) {
      return;
    }
  }

  /**
   * Writes the wishes beside a store, in place of the former ones.
   *
   * @param store the store
   * @throws IOException if the write fails; the former wishes stay
   */
  public void write(PluginStore store) throws IOException {
    StringBuilder text = new StringBuilder();
    for (Wanted each : here) {
      StoredPlugin plugin = each.plugin();
      text.append(
          String.join(
              " ",
              HERE,
              plugin.symbolicName(),
              plugin.version(),
              plugin.digest().hex(),
              URLEncoder.encode(each.scope(), StandardCharsets.UTF_8)));
      text.append('\n');
    }
    anywhere.stream()
        .map(Digest::hex)
        .sorted()
        .forEach(digest -> text.append(ANYWHERE).append(' ').append(digest).append('\n'));
    AtomicFile.replace(
        store.folder().resolve(FILE),
        text.toString().getBytes(StandardCharsets.UTF_8),
        Mode.SECRET,
        Durability.POWER_LOSS);
  }
}
