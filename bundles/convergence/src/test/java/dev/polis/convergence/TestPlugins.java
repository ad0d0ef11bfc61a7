package dev.polis.convergence;

import com.google.protobuf.ByteString;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.pki.Ed25519;
import dev.polis.plugins.local.LocalInventory;
import dev.polis.plugins.local.LocalPlugins;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.Provided;
import dev.polis.plugins.manifest.SignedManifest;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.store.ClusterWants;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginOrigins;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.store.StagedFiles;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.swap.SwapOptions;
import dev.polis.plugins.swap.SwapOrder;
import dev.polis.plugins.swap.SwapOutcome;
import dev.polis.plugins.swap.SwapRefusedException;
import dev.polis.plugins.swap.SwapStatus;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.osgi.framework.Version;

/**
 * Stands for the plugins of a node: the store is real, and its "bundles" are a few bytes of text. A
 * swap only writes the generation, without a framework; a plugin that a test marks as broken is
 * reverted.
 */
final class TestPlugins implements LocalPlugins {
  static final KeyPair KEY = Ed25519.generate();
  private static final Digest ORIGIN = Digest.of("a distribution".getBytes(StandardCharsets.UTF_8));

  final PluginStore store;
  final List<String> orders = new CopyOnWriteArrayList<>();
  final Map<String, String> broken = new HashMap<>();
  final AtomicInteger attemptsToKeep = new AtomicInteger();
  private final Path folder;
  private final StagedFiles staged;
  private final MutableValue<LocalInventory> inventory = new MutableValue<>();
  private final MutableValue<SwapStatus> newest = new MutableValue<>();
  private boolean busy;

  TestPlugins(Path folder, StoredPlugin... distribution) throws Exception {
    this.folder = Files.createDirectories(folder);
    store = PluginStore.open(folder.resolve("plugins"));
    staged = StagedFiles.of(store);
    for (StoredPlugin plugin : distribution) {
      store.put(plugin, source(plugin));
    }
    store.putDistribution(ORIGIN, List.of(distribution));
    store.commit(ORIGIN, List.of(distribution));
    refresh();
  }

  static StoredPlugin plugin(String name, String version) {
    return new StoredPlugin(name, version, Digest.of(content(name, version)));
  }

  static byte[] content(String name, String version) {
    return ("the bundle " + name + " " + version + " ")
        .repeat(1000)
        .getBytes(StandardCharsets.UTF_8);
  }

  static byte[] content(StoredPlugin plugin) {
    return content(plugin.symbolicName(), plugin.version());
  }

  static ByteString manifest(StoredPlugin plugin) {
    PluginManifest manifest =
        new PluginManifest(
            plugin.symbolicName(),
            new Version(plugin.version()),
            plugin.digest(),
            content(plugin).length,
            List.of(new Provided.Organ("organ")),
            List.of(),
            new Version("0.1.0"));
    return SignedManifest.sign(manifest, KEY.getPrivate()).encode();
  }

  private Path source(StoredPlugin plugin) throws IOException {
    return Files.write(
        folder.resolve(plugin.symbolicName() + "-" + plugin.version()), content(plugin));
  }

  /** Stages a whole file, as if an operator had sent it. */
  void stage(StoredPlugin plugin) throws Exception {
    staged.write(plugin.digest(), 0, ByteBuffer.wrap(content(plugin)));
    staged.finish(plugin.digest(), manifest(plugin).toByteArray());
    refresh();
  }

  synchronized void setBusy(boolean is) {
    busy = is;
  }

  /** Returns the plugins that run: {@code a 1.0.0}. */
  List<String> running() {
    return inventory.peek().orElseThrow().running().stream()
        .map(plugin -> plugin.symbolicName() + " " + plugin.version())
        .toList();
  }

  ClusterWants kept() throws IOException {
    return ClusterWants.read(store);
  }

  @Override
  public Value<LocalInventory> inventory() {
    return inventory;
  }

  @Override
  public Value<SwapStatus> newest() {
    return newest;
  }

  @Override
  public void want(ClusterWants wants) throws IOException {
    attemptsToKeep.incrementAndGet();
    wants.write(store);
    try {
      PluginOrigins.of(store).claim(store.current().orElseThrow(), wants);
    } catch (PluginStoreException e) {
      throw new AssertionError("the store of the test", e);
    }
    refresh();
  }

  @Override
  public StagedFiles staged() {
    return staged;
  }

  @Override
  public synchronized void refresh() {
    try {
      Generation current = store.current().orElseThrow();
      List<StoredPlugin> distribution = store.distribution().orElseThrow().plugins();
      Set<Digest> digests = new HashSet<>(staged.whole());
      digests.addAll(store.files());
      Set<StoredPlugin> files = new HashSet<>();
      for (Digest each : digests) {
        String[] words = Files.readString(file(each).orElseThrow()).split(" ");
        files.add(plugin(words[2], words[3]));
      }
      inventory.set(
          new LocalInventory(
              current.number(),
              current.fingerprint(),
              current.plugins(),
              distribution,
              PluginOrigins.of(store).of(current, distribution),
              files,
              TrustRoots.NONE));
    } catch (IOException | PluginStoreException e) {
      throw new AssertionError("the store of the test", e);
    }
  }

  @Override
  public Optional<Path> file(Digest digest) {
    return store
        .file(digest)
        .or(() -> Optional.of(digest).filter(staged::isWhole).map(staged::file));
  }

  @Override
  public synchronized Value<SwapStatus> begin(SwapOrder order, SwapOptions options)
      throws SwapRefusedException {
    if (busy) {
      throw new SwapRefusedException("another swap is under way");
    }
    orders.add(order.words());
    try {
      String trouble = carriedOut(order, options);
      SwapOutcome outcome =
          trouble.isEmpty()
              ? new SwapOutcome.Applied(store.current().orElseThrow().number(), "")
              : new SwapOutcome.Reverted(trouble);
      refresh();
      return new MutableValue<>(
          SwapStatus.begun(
                  orders.size(), order.words(), order.plugins(), options.who(), Instant.now())
              .ended(outcome));
    } catch (IOException | PluginStoreException e) {
      throw new AssertionError("the store of the test", e);
    }
  }

  /** Returns the reason for its reversal; empty if it was applied. */
  private String carriedOut(SwapOrder order, SwapOptions options)
      throws IOException, PluginStoreException {
    Generation current = store.current().orElseThrow();
    List<StoredPlugin> plugins = new ArrayList<>(current.plugins());
    switch (order) {
      case SwapOrder.Replace replace -> {
        String[] words = Files.readString(replace.file()).split(" ");
        StoredPlugin plugin = plugin(words[2], words[3]);
        if (!options.force()
            && broken.containsKey(plugin.symbolicName() + " " + plugin.version())) {
          return broken.get(plugin.symbolicName() + " " + plugin.version());
        }
        store.put(plugin, replace.file());
        plugins.removeIf(each -> each.symbolicName().equals(plugin.symbolicName()));
        plugins.add(plugin);
      }
      case SwapOrder.Remove remove ->
          plugins.removeIf(each -> each.symbolicName().equals(remove.symbolicName()));
      case SwapOrder.Adopt adopt -> {
        plugins.removeIf(each -> adopt.symbolicNames().contains(each.symbolicName()));
        store.distribution().orElseThrow().plugins().stream()
            .filter(each -> adopt.symbolicNames().contains(each.symbolicName()))
            .forEach(plugins::add);
      }
      default -> throw new AssertionError("the organ does not order a " + order.words());
    }
    Generation target =
        new Generation(current.number(), current.origin(), plugins, current.configuration());
    PluginOrigins.of(store).note(current, target, options.byCluster(), ClusterWants.read(store));
    store.commit(target.origin(), target.plugins());
    return "";
  }
}
