package dev.polis.node;

import dev.polis.node.exit.Refusal;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PlatformVersion;
import dev.polis.plugins.manifest.PluginRefusedException;
import dev.polis.plugins.manifest.PluginVerifier;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.manifest.VerifiedManifest;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.store.SwapNotes;
import dev.polis.plugins.store.SwapRecord;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Lets a process start with plugins alone that may run today: those of its distribution, and those
 * that are signed by a key that the cluster trusts as far as this node has heard. That a plugin was
 * verified when it came says nothing of the keys that were removed since.
 */
final class TrustAtStart {

  private final PluginStore store;
  private final Distribution distribution;
  private final TrustRoots roots;
  private final Consumer<String> screen;

  /**
   * @param roots the keys that the cluster trusted when this node last heard of them
   * @param screen receives a line for each thing a person should know
   */
  TrustAtStart(
      PluginStore store, Distribution distribution, TrustRoots roots, Consumer<String> screen) {
    this.store = store;
    this.distribution = distribution;
    this.roots = roots;
    this.screen = screen;
  }

  /**
   * Returns the newest generation that may run. It is a new one if the current one may not: each
   * plugin that may not run is replaced by the one before it, by the distribution's, or by none.
   *
   * @param current the generation that counts
   * @throws Refusal if the distribution is damaged
   * @throws PluginStoreException if the store is damaged
   * @throws IOException if the store cannot be written
   */
  Generation allowed(Generation current) throws Refusal, PluginStoreException, IOException {
    Map<StoredPlugin, String> refused = refused(current);
    if (refused.isEmpty()) {
      return current;
    }
    List<StoredPlugin> plugins = without(current, refused);
    FormerPlugins former =
        new FormerPlugins(store, distribution.systemPackages(), PlatformVersion.current(), screen);
    Generation next =
        store.commit(current.origin(), plugins, former.fitting(current.configuration(), plugins));
    note(current, next, refused);
    return next;
  }

  private Map<StoredPlugin, String> refused(Generation generation) throws Refusal, IOException {
    Map<StoredPlugin, String> refused = new LinkedHashMap<>();
    for (StoredPlugin plugin : generation.plugins()) {
      refusal(plugin).ifPresent(why -> refused.put(plugin, why));
    }
    return refused;
  }

  /** Returns why a plugin may not run; empty if it may. */
  private Optional<String> refusal(StoredPlugin plugin) throws Refusal, IOException {
    boolean own = store.distribution().stream().anyMatch(each -> each.plugins().contains(plugin));
    Optional<Path> file = store.file(plugin.digest());
    if (own || file.isEmpty()) {
      // A file that is missing is refused where the files are read.
      return Optional.empty();
    }
    PluginVerifier verifier =
        new PluginVerifier(PlatformVersion.current(), distribution.manifestDigests());
    try {
      byte[] manifest = ManifestEnvelope.stored(file.get());
      VerifiedManifest verified = verifier.verifyManifest(manifest, roots);
      return verified.manifest().digest().equals(plugin.digest())
          ? Optional.empty()
          : Optional.of("the manifest beside it belongs to another bundle");
    } catch (PluginRefusedException e) {
      return Optional.of(e.getMessage());
    }
  }

  private List<StoredPlugin> without(Generation current, Map<StoredPlugin, String> refused)
      throws Refusal, IOException, PluginStoreException {
    Optional<Generation> before =
        store.previous().filter(each -> each.origin().equals(current.origin()));
    Generation own =
        store
            .distribution()
            .orElseThrow(() -> new Refusal("the plugin store does not know its distribution"));
    List<StoredPlugin> plugins = new ArrayList<>();
    for (StoredPlugin plugin : current.plugins()) {
      if (!refused.containsKey(plugin)) {
        plugins.add(plugin);
        continue;
      }
      String name = plugin.symbolicName();
      for (StoredPlugin other :
          Stream.concat(before.stream(), Stream.of(own))
              .flatMap(each -> each.find(name).stream())
              .toList()) {
        if (refusal(other).isEmpty()) {
          plugins.add(other);
          break;
        }
      }
    }
    return isStartable(current, plugins) ? plugins : own.plugins();
  }

  private boolean isStartable(Generation current, List<StoredPlugin> plugins) throws IOException {
    Generation next = new Generation(current.number(), current.origin(), plugins);
    try {
      NodeBundles.load(store, next, distribution.systemPackages());
      return true;
    } catch (Refusal | PluginStoreException lacksOne) {
      return false;
    }
  }

  private void note(Generation current, Generation next, Map<StoredPlugin, String> refused)
      throws IOException {
    String reason =
        refused.entrySet().stream()
            .map(
                each ->
                    "%s %s may not run any more, and %s: %s"
                        .formatted(
                            each.getKey().symbolicName(),
                            each.getKey().version(),
                            next.find(each.getKey().symbolicName())
                                .map(other -> "version %s runs".formatted(other.version()))
                                .orElse("no other version is here"),
                            each.getValue()))
            .collect(Collectors.joining("; "));
    SwapNotes notes = SwapNotes.of(store);
    notes.ended(
        SwapRecord.ofStart(
            Instant.now(),
            current,
            SwapRecord.NOT_TRUSTED,
            reason,
            refused.keySet().stream().map(StoredPlugin::symbolicName).collect(Collectors.toSet())));
    notes.start(next.number());
    screen.accept(reason);
  }
}
