package dev.polis.plugins.store;

import dev.polis.files.AtomicFile;
import dev.polis.fixtures.power.PowerScenario;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Installs sets of plugins, deletes unused files, and writes the notes about swaps. */
final class StoreScenario implements PowerScenario {

  private static final Digest ORIGIN = Digest.of(bytes("a distribution"));
  private static final Digest STAGED = Digest.of(bytes("a file that was sent"));
  private static final ConfigurationSet PORT = ConfigurationSet.none().with("a", "port", "99");
  private static final SwapRecord SWAP =
      new SwapRecord(Instant.EPOCH, "owner", "a swap", 1, ORIGIN, "applied", "", Set.of());

  @Override
  public List<String> apart() {
    return List.of("store/files", "store/generations", "store/staged");
  }

  @Override
  public List<Step> steps() {
    return List.of(
        root -> install(root, "1"),
        root -> store(root).putManifest(plugin("a", "1"), bytes("its manifest")),
        root -> store(root).putDistribution(ORIGIN, plugins("1")),
        root -> install(root, "2"),
        root -> notes(root).underWay(SWAP),
        root -> notes(root).ended(SWAP),
        root -> notes(root).failed(SWAP),
        root -> notes(root).cutOff(SWAP),
        root -> notes(root).start(2),
        root -> notes(root).cameUp(),
        root -> wants().write(store(root)),
        root -> origins(root),
        root -> stage(root),
        root -> install(root, "3"),
        root -> install(root, "4"),
        root -> {
          store(root).collect();
          // Does what the kernel does at some time: bytes that were not forced may reach the disk,
          // too.
          AtomicFile.force(root.resolve("store/files"));
        },
        root -> installWithWayBack(root, "5", "6"));
  }

  private static PluginStore store(Path root) throws IOException {
    return PluginStore.open(root.resolve("store"));
  }

  private static SwapNotes notes(Path root) throws IOException {
    return SwapNotes.of(store(root));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static StoredPlugin plugin(String name, String version) {
    return new StoredPlugin(name, version, Digest.of(bytes(name + " " + version)));
  }

  private static List<StoredPlugin> plugins(String version) {
    return List.of(plugin("a", version), plugin("b", version));
  }

  private static void install(Path root, String version) throws Exception {
    PluginStore store = store(root);
    put(store, version);
    store.commit(ORIGIN, plugins(version));
  }

  /** Switches to one set with another one behind it, as a new distribution does. */
  private static void installWithWayBack(Path root, String before, String version)
      throws Exception {
    PluginStore store = store(root);
    put(store, before);
    put(store, version);
    store.commitWithWayBack(ORIGIN, plugins(before), plugins(version), PORT);
  }

  private static void put(PluginStore store, String version) throws Exception {
    Path sources = Files.createTempDirectory("polis-power-sources");
    for (StoredPlugin plugin : plugins(version)) {
      Path source = sources.resolve(plugin.symbolicName());
      Files.write(source, bytes(plugin.symbolicName() + " " + version));
      store.put(plugin, source);
      Files.delete(source);
    }
    Files.delete(sources);
  }

  private static ClusterWants wants() {
    return new ClusterWants(
        List.of(new ClusterWants.Wanted(plugin("a", "2"), "on each node")),
        Set.of(plugin("a", "2").digest()));
  }

  private static void origins(Path root) throws IOException {
    PluginOrigins.of(store(root))
        .note(
            new Generation(1, ORIGIN, plugins("1")),
            new Generation(2, ORIGIN, plugins("2")),
            true,
            wants());
  }

  private static void stage(Path root) throws Exception {
    StagedFiles staged = StagedFiles.of(store(root));
    staged.write(STAGED, 0, ByteBuffer.wrap(bytes("a file that was sent")));
    staged.finish(STAGED, bytes("its manifest"));
  }

  @Override
  public String observe(Path root) throws Exception {
    PluginStore store = store(root);
    SwapNotes notes = SwapNotes.of(store);
    var current = store.current();
    List<String> found = new ArrayList<>();
    found.add("current " + current.map(StoreScenario::text).orElse("none"));
    found.add("previous " + store.previous().map(StoreScenario::text).orElse("none"));
    if (current.isPresent()) {
      verify(store, current.get());
    }
    var previous = store.previous();
    if (previous.isPresent()) {
      verify(store, previous.get());
    }
    found.add("manifest " + content(root.resolve("store/files"), plugin("a", "1")));
    found.add("distribution " + store.distribution().map(StoreScenario::text).orElse("none"));
    found.add("under way " + notes.underWay().isPresent());
    found.add("history " + notes.history().size());
    found.add("failed " + notes.failed().size());
    found.add("cut off " + Files.exists(root.resolve("store/cut-off")));
    found.add("starts " + Files.exists(root.resolve("store/starts")));
    found.add("wants " + ClusterWants.read(store).equals(wants()));
    found.add(
        "origins "
            + PluginOrigins.of(store).of(new Generation(2, ORIGIN, plugins("2")), List.of()));
    found.add("staged " + staged(store));
    found.add("generations " + generations(root, store));
    return String.join(", ", found);
  }

  private static String text(Generation generation) {
    return generation.number() + generation.plugins().getFirst().version();
  }

  private static void verify(PluginStore store, Generation generation) throws Exception {
    for (StoredPlugin plugin : generation.plugins()) {
      store.verified(plugin);
    }
  }

  private static String content(Path files, StoredPlugin plugin) throws IOException {
    Path file = files.resolve(plugin.digest().hex() + ".jar" + PluginStore.MANIFEST_SUFFIX);
    return Files.exists(file) ? Files.readString(file) : "none";
  }

  private static String staged(PluginStore store) throws Exception {
    StagedFiles staged = StagedFiles.of(store);
    return staged.isWhole(STAGED)
        ? Digest.of(staged.file(STAGED)).equals(STAGED) + Files.readString(staged.manifest(STAGED))
        : "none";
  }

  /** Returns all existing generations, whose files must exist, too. */
  private static Set<String> generations(Path root, PluginStore store) throws Exception {
    Set<String> found = new TreeSet<>();
    long current = store.current().map(Generation::number).orElse(0L);
    try (var all = Files.list(root.resolve("store/generations"))) {
      for (Path file : all.toList()) {
        long number = Long.parseLong(file.getFileName().toString());
        Generation generation =
            Generation.decode(Files.readString(file, StandardCharsets.ISO_8859_1));
        if (number <= current) {
          verify(store, generation);
          found.add(text(generation));
        }
      }
    }
    return found;
  }

  /** Allows that a part of the unused files is deleted. */
  @Override
  public boolean underWay(String observed) {
    return observed.startsWith("current 44, previous 33") && !observed.contains("refused");
  }
}
