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
 * Holds which plugins the cluster wants, as this node last heard of it. It is kept beside the
 * store, so that swaps by hand and the collection of files heed it while the cluster is away.
 *
 * @param here what it wants of this node, no two of the same symbolic name
 * @param anywhere the digests of what it wants of any node
 */
public record ClusterWants(List<Wanted> here, Set<Digest> anywhere) {
  /** Wants nothing. */
  public static final ClusterWants NONE = new ClusterWants(List.of(), Set.of());

  private static final String FILE = "wanted";
  private static final String HERE = "here";
  private static final String ANYWHERE = "anywhere";

  /**
   * A plugin that the cluster wants of this node.
   *
   * @param plugin which
   * @param scope where it wants it, such as {@code on each node}
   */
  public record Wanted(StoredPlugin plugin, String scope) {
    /** Refuses what is missing. */
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
   * Finds what the cluster wants of this node under a symbolic name.
   *
   * @param symbolicName of a plugin
   * @return empty if it wants nothing under that name
   */
  public Optional<Wanted> find(String symbolicName) {
    return here.stream()
        .filter(each -> each.plugin().symbolicName().equals(symbolicName))
        .findFirst();
  }

  /**
   * Reads what was kept beside a store. A garbled line is left out: the curator sends the whole set
   * with each connection.
   *
   * @param store beside which it lies
   * @return {@link #NONE} if nothing was kept
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
   * Keeps this beside a store, in place of what was kept before.
   *
   * @param store beside which it lies
   * @throws IOException if it cannot be written; what was kept before stays
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
