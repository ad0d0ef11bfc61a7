package dev.polis.node;

import dev.polis.node.exit.Refusal;
import dev.polis.plugins.manifest.DistributionManifest;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PackException;
import dev.polis.plugins.manifest.PackOptions;
import dev.polis.plugins.manifest.PlatformVersion;
import dev.polis.plugins.manifest.PluginPacker;
import dev.polis.plugins.plan.BundleManifest;
import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.store.StoredPlugin;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Reads and writes a built node: {@code lib/} for the launcher's class path, {@code bundles/}, the
 * list of the bundles that the framework installs, their plugin manifests in {@code manifests/},
 * the list of these, the list of system packages, and the digests of what is in {@code lib/}.
 *
 * @param folder where it lies
 */
record Distribution(Path folder) {
  private static final String LIST = "bundles.list";
  private static final String MANIFESTS = "manifests.list";
  static final String AGAIN = "build the distribution again";

  /** A line of the list. */
  private record Line(StoredPlugin plugin, String file) {
    @Override
    public String toString() {
      return plugin.symbolicName() + " " + plugin.version() + " " + plugin.digest() + " " + file;
    }
  }

  /**
   * @return the distribution the launcher's own classes come from
   * @throws Refusal if they come from somewhere else, as in a development environment
   */
  static Distribution own() throws Refusal {
    String home = System.getProperty("polis.distribution");
    if (home == null) {
      throw new Refusal(
          "no distribution is named; start the node with \"polis up\", or set -Dpolis.distribution=FOLDER");
    }
    return new Distribution(Path.of(home).toAbsolutePath().normalize());
  }

  /**
   * Writes the plugin manifests and the lists from the bundles that are there; the build's last
   * step.
   *
   * @return how many bundles the framework gets
   * @throws IOException if a file is no bundle or can not be read
   */
  int seal() throws IOException {
    List<String> lines = new ArrayList<>();
    List<String> manifests = new ArrayList<>();
    Set<String> libraries = systemPackages().libraries();
    try (Stream<Path> jars = Files.list(folder.resolve("bundles"))) {
      for (Path jar : jars.sorted().toList()) {
        BundleManifest manifest = BundleManifest.read(jar);
        if (libraries.contains(manifest.symbolicName())) {
          continue;
        }
        StoredPlugin plugin =
            new StoredPlugin(manifest.symbolicName(), manifest.version(), Digest.of(jar));
        lines.add(new Line(plugin, jar.getFileName().toString()).toString());
        manifests.add(describe(jar) + " " + jar.getFileName());
      }
    }
    Files.write(folder.resolve(LIST), lines);
    Files.write(folder.resolve(MANIFESTS), manifests);
    libraries().write();
    return lines.size();
  }

  /** Returns the digests of the jars on the class path. */
  LibraryDigests libraries() {
    return new LibraryDigests(folder);
  }

  /** Writes the plugin manifest of a bundle and returns its digest. */
  private Digest describe(Path jar) throws IOException {
    try {
      DistributionManifest manifest =
          DistributionManifest.of(PluginPacker.describe(jar, PackOptions.NONE));
      Path file = manifestFile(jar.getFileName().toString());
      Files.createDirectories(file.getParent());
      Files.write(file, manifest.encode().toByteArray());
      return manifest.digest();
    } catch (PackException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  /**
   * Returns the digests of the plugin manifests that came with this distribution: those that need
   * no signature.
   *
   * @throws Refusal if the list is damaged
   */
  Set<Digest> manifestDigests() throws Refusal {
    return Set.copyOf(manifestsByFile().values());
  }

  private Map<String, Digest> manifestsByFile() throws Refusal {
    return digests(folder.resolve(MANIFESTS));
  }

  /**
   * Reads a list of digests and files, a line for each.
   *
   * @return the digests by file
   * @throws Refusal if the list is missing or damaged
   */
  static Map<String, Digest> digests(Path list) throws Refusal {
    Map<String, Digest> digests = new HashMap<>();
    try {
      for (String line : Files.readAllLines(list)) {
        String[] words = line.split(" ", 2);
        digests.put(words[words.length - 1], new Digest(words[0]));
      }
      return digests;
    } catch (IOException | IllegalArgumentException e) {
      throw new Refusal(list + " can not be read (" + e.getMessage() + "); " + AGAIN, e);
    }
  }

  private Path manifestFile(String jar) {
    return folder.resolve("manifests").resolve(jar + ManifestEnvelope.SUFFIX);
  }

  /**
   * Brings the plugin store to this distribution, unless it descends from it already. What swaps
   * have brought stays if it works with this distribution, and so do configurations that fit.
   *
   * @param screen receives a line for each thing a person should know
   * @return the generation to run
   * @throws Refusal if a bundle is missing or garbled here
   * @throws PluginStoreException if one is garbled in the store
   * @throws IOException if the store can not be written
   */
  Generation seed(PluginStore store, Consumer<String> screen)
      throws Refusal, PluginStoreException, IOException {
    Digest origin = identity();
    Optional<Generation> current = store.current();
    List<StoredPlugin> own = lines().stream().map(Line::plugin).toList();
    Optional<Generation> kept = store.distribution();
    if (kept.isEmpty() || !kept.get().origin().equals(origin)) {
      for (Line line : lines()) {
        put(store, line);
      }
      store.putDistribution(origin, own);
    }
    if (current.isPresent() && current.get().origin().equals(origin)) {
      differences(current.get(), own).forEach(screen);
      return current.get();
    }
    Generation next =
        current.isPresent()
            ? withFormer(store, origin, own, current.get(), screen)
            : store.commit(origin, own);
    store.collect();
    return next;
  }

  /**
   * Commits this distribution's bundles with what stays of the former generation. The bundles alone
   * become the generation before: a process that does not come up falls back to it.
   */
  private Generation withFormer(
      PluginStore store,
      Digest origin,
      List<StoredPlugin> own,
      Generation former,
      Consumer<String> screen)
      throws PluginStoreException, IOException {
    FormerPlugins stays =
        new FormerPlugins(store, systemPackages(), PlatformVersion.current(), screen);
    List<StoredPlugin> plugins = stays.merged(own, former.plugins());
    ConfigurationSet configuration = stays.fitting(former.configuration(), plugins);
    differences(new Generation(1, origin, plugins), own).forEach(screen);
    boolean same = Set.copyOf(plugins).equals(Set.copyOf(own)) && configuration.keys().isEmpty();
    return same
        ? store.commit(origin, own)
        : store.commitWithWayBack(origin, own, plugins, configuration);
  }

  /** Returns a line for each organ that runs in another version than this distribution has. */
  private static List<String> differences(Generation generation, List<StoredPlugin> own) {
    return own.stream()
        .filter(plugin -> !generation.plugins().contains(plugin))
        .map(
            plugin ->
                "%s runs in version %s, and this distribution has %s; polisctl plugin adopt %s takes that"
                    .formatted(
                        plugin.symbolicName(),
                        generation
                            .find(plugin.symbolicName())
                            .map(StoredPlugin::version)
                            .orElse("none"),
                        plugin.version(),
                        plugin.symbolicName()))
        .toList();
  }

  /**
   * Puts files back that the store has lost, or that were damaged in it, where this distribution
   * has the same ones.
   *
   * @throws Refusal if one is missing or garbled here, too
   * @throws IOException if the store can not be written
   */
  void restore(PluginStore store, Generation generation)
      throws Refusal, PluginStoreException, IOException {
    for (Line line : lines()) {
      if (generation.plugins().contains(line.plugin())) {
        put(store, line);
      }
    }
  }

  /**
   * Puts plugin manifests back that the store has lost, or that were damaged in it.
   *
   * @return whether there were any
   * @throws Refusal if one is damaged here, too
   * @throws IOException if the store can not be written
   */
  boolean restoreManifests(PluginStore store) throws Refusal, IOException {
    boolean restored = false;
    for (Line line : lines()) {
      Optional<Path> bundle = store.file(line.plugin().digest());
      Path own = manifestFile(line.file());
      if (bundle.isPresent()
          && Files.exists(own)
          && !isSame(own, ManifestEnvelope.beside(bundle.get()))) {
        putManifest(store, line);
        restored = true;
      }
    }
    return restored;
  }

  private static boolean isSame(Path file, Path other) throws IOException {
    return Files.exists(other) && Files.mismatch(file, other) < 0;
  }

  /**
   * @return the manifests of all bundles of the distribution itself
   * @throws Refusal if one is missing or no bundle
   */
  List<BundleManifest> manifests() throws Refusal {
    List<BundleManifest> manifests = new ArrayList<>();
    for (Line line : lines()) {
      try {
        manifests.add(BundleManifest.read(folder.resolve("bundles").resolve(line.file())));
      } catch (IOException e) {
        throw new Refusal(
            folder.resolve("bundles").resolve(line.file()) + " can not be read; " + AGAIN, e);
      }
    }
    return manifests;
  }

  /**
   * Returns the packages that the bundles get from the class path.
   *
   * @throws IOException if it can not be read
   */
  SystemPackages systemPackages() throws IOException {
    return SystemPackages.read(folder);
  }

  private void put(PluginStore store, Line line) throws Refusal, PluginStoreException, IOException {
    Path jar = folder.resolve("bundles").resolve(line.file());
    try {
      store.put(line.plugin(), jar);
      putManifest(store, line);
    } catch (NoSuchFileException e) {
      throw new Refusal(
          jar + ": the file of " + line.plugin().symbolicName() + " is missing; " + AGAIN, e);
    }
  }

  private void putManifest(PluginStore store, Line line) throws Refusal, IOException {
    Digest listed = manifestsByFile().get(line.file());
    if (listed == null) {
      return;
    }
    Path file = manifestFile(line.file());
    byte[] manifest = Files.readAllBytes(file);
    if (!Digest.of(manifest).equals(listed)) {
      throw new Refusal(file + " is damaged: its digest is not the listed one; " + AGAIN);
    }
    store.putManifest(line.plugin(), manifest);
  }

  private Digest identity() throws Refusal, IOException {
    try {
      return Digest.of(folder.resolve(LIST));
    } catch (NoSuchFileException e) {
      throw new Refusal(folder + " is no distribution: " + LIST + " is missing; " + AGAIN, e);
    }
  }

  private List<Line> lines() throws Refusal {
    Path list = folder.resolve(LIST);
    try {
      return Files.readAllLines(list).stream().map(Distribution::line).toList();
    } catch (IOException | IllegalArgumentException e) {
      throw new Refusal(list + " can not be read (" + e.getMessage() + "); " + AGAIN, e);
    }
  }

  private static Line line(String text) {
    String[] words = text.split(" ", 4);
    if (words.length != 4) {
      throw new IllegalArgumentException(
          "the line \"" + text + "\" has " + words.length + " words, not 4");
    }
    return new Line(new StoredPlugin(words[0], words[1], new Digest(words[2])), words[3]);
  }
}
