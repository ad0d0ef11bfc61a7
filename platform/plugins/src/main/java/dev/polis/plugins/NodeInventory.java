package dev.polis.plugins;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.plugins.local.LocalInventory;
import dev.polis.plugins.local.LocalPlugins;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.PluginRefusedException;
import dev.polis.plugins.manifest.PluginVerifier;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.store.ClusterWants;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginOrigins;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.store.StagedFiles;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.swap.SwapEngine;
import dev.polis.plugins.swap.SwapOptions;
import dev.polis.plugins.swap.SwapOrder;
import dev.polis.plugins.swap.SwapParts.Audit;
import dev.polis.plugins.swap.SwapRefusedException;
import dev.polis.plugins.swap.SwapStatus;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Implements {@link LocalPlugins} over the store and the engine. Its own thread reads the inventory
 * again after each swap, until the close.
 */
final class NodeInventory implements LocalPlugins, AutoCloseable {
  private final PluginStore store;
  private final SwapEngine engine;
  private final StagedFiles staged;
  private final Supplier<TrustRoots> trusted;
  private final Audit audit;
  private final MutableValue<LocalInventory> inventory = new MutableValue<>();
  private final Thread follower;

  /** The files that are known as organs or roles, since a file never changes. Guarded by this. */
  private final Map<Digest, StoredPlugin> organs = new HashMap<>();

  NodeInventory(PluginStore store, SwapEngine engine, Supplier<TrustRoots> trusted, Audit audit) {
    this.store = store;
    this.engine = engine;
    this.staged = StagedFiles.of(store);
    this.trusted = trusted;
    this.audit = audit;
    refresh();
    follower = Thread.ofVirtual().name("plugin-inventory").start(this::follow);
  }

  private void follow() {
    try (Watcher<SwapStatus> swaps = engine.newest().watch()) {
      while (true) {
        swaps.get(swap -> swap.outcome().isPresent());
        refresh();
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public Value<LocalInventory> inventory() {
    return inventory;
  }

  @Override
  public Value<SwapStatus> newest() {
    return engine.newest();
  }

  @Override
  public void want(ClusterWants wants) throws IOException {
    if (!ClusterWants.read(store).equals(wants)) {
      wants.write(store);
    }
    claim(wants);
    refresh();
  }

  private void claim(ClusterWants wants) throws IOException {
    try {
      Optional<Generation> current = store.current();
      if (current.isPresent()) {
        PluginOrigins.of(store).claim(current.get(), wants);
      }
    } catch (PluginStoreException damaged) {
      audit.note(
          "the wanted plugins cannot be compared with the running ones: " + damaged.getMessage());
    }
  }

  @Override
  public StagedFiles staged() {
    return staged;
  }

  @Override
  public Optional<Path> file(Digest digest) {
    return store
        .file(digest)
        .or(() -> Optional.of(digest).filter(staged::isWhole).map(staged::file));
  }

  @Override
  public Value<SwapStatus> begin(SwapOrder order, SwapOptions options) throws SwapRefusedException {
    return engine.begin(order, options);
  }

  @Override
  public synchronized void refresh() {
    try {
      Optional<Generation> current = store.current();
      if (current.isPresent()) {
        inventory.set(read(current.get()));
      }
    } catch (IOException | PluginStoreException e) {
      audit.note("which plugins this node has cannot be read: " + e.getMessage());
    }
  }

  private LocalInventory read(Generation current) throws IOException {
    Set<Digest> stored = store.files();
    organs.keySet().retainAll(stored);
    Set<StoredPlugin> files = new HashSet<>();
    stored.forEach(digest -> organ(digest).ifPresent(files::add));
    staged
        .whole()
        .forEach(
            digest ->
                described(digest, staged.file(digest), staged.manifest(digest))
                    .ifPresent(files::add));
    List<StoredPlugin> distribution =
        organs(store.distribution().map(Generation::plugins).orElse(List.of()));
    return new LocalInventory(
        current.number(),
        current.fingerprint(),
        organs(current.plugins()),
        distribution,
        PluginOrigins.of(store).of(current, distribution),
        files,
        trusted.get());
  }

  private List<StoredPlugin> organs(List<StoredPlugin> plugins) {
    return plugins.stream().filter(plugin -> organ(plugin.digest()).isPresent()).toList();
  }

  /** Returns the plugin of a file in the store; empty for a library. */
  private Optional<StoredPlugin> organ(Digest digest) {
    if (!organs.containsKey(digest)) {
      // Remembers only organs, since the manifest of another file may still arrive.
      store
          .file(digest)
          .flatMap(file -> described(digest, file, ManifestEnvelope.beside(file)))
          .ifPresent(organ -> organs.put(digest, organ));
    }
    return Optional.ofNullable(organs.get(digest));
  }

  private static Optional<StoredPlugin> described(Digest digest, Path file, Path beside) {
    try {
      PluginManifest manifest =
          ManifestEnvelope.decode(PluginVerifier.read(file, beside)).content();
      return Optional.of(manifest)
          .filter(PluginManifest::isOrganOrRole)
          .map(organ -> new StoredPlugin(organ.symbolicName(), organ.version().toString(), digest));
    } catch (PluginRefusedException | IOException e) {
      // A file without a manifest counts as a library.
      return Optional.empty();
    }
  }

  @Override
  public void close() {
    follower.interrupt();
    try {
      follower.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
