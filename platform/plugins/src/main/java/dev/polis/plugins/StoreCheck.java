package dev.polis.plugins;

import dev.polis.health.HealthCondition;
import dev.polis.health.SelfCheck;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PluginRefusedException;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.store.StoreFailure;
import dev.polis.plugins.store.StoredPlugin;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Notices that a file of the plugin store is missing or damaged while the node runs with its
 * bundles open. It reads a file again only if its length, time or inode has changed; it reads
 * nothing of a bundle that is as the start of the process verified it. One thread uses it.
 */
final class StoreCheck implements SelfCheck.Look {
  private static final String DAMAGED = "plugin-store-damaged";

  private final PluginStore store;

  /** The state of each file at its last read. */
  private final Map<Path, Seen> seen = new HashMap<>();

  private record Seen(Stamp stamp, List<String> faults) {}

  private record Stamp(long length, FileTime modified, Object inode) {
    static Stamp of(Path file) throws IOException {
      BasicFileAttributes now = Files.readAttributes(file, BasicFileAttributes.class);
      return new Stamp(now.size(), now.lastModifiedTime(), now.fileKey());
    }
  }

  StoreCheck(PluginStore store) {
    this.store = store;
  }

  @Override
  public Optional<HealthCondition> look() {
    try {
      Optional<Generation> current = store.current();
      return current.isEmpty() ? Optional.of(withoutPointer()) : look(current.get());
    } catch (PluginStoreException e) {
      return Optional.of(damaged(e.getMessage(), ""));
    } catch (IOException e) {
      return Optional.of(damaged(StoreFailure.words(e), ""));
    }
  }

  private Optional<HealthCondition> look(Generation current) throws IOException {
    List<StoredPlugin> own = store.distribution().map(Generation::plugins).orElse(List.of());
    Set<StoredPlugin> all = new LinkedHashSet<>(current.plugins());
    all.addAll(own);
    Map<StoredPlugin, String> faults = new LinkedHashMap<>();
    for (StoredPlugin plugin : all) {
      fault(plugin).ifPresent(fault -> faults.put(plugin, fault));
    }
    if (faults.isEmpty()) {
      return Optional.empty();
    }
    int others = faults.size() - 1;
    return Optional.of(
        damaged(
            "%s%s; the running code has its file open, and the next start and each swap read the files"
                .formatted(faults.values().iterator().next(), more(others)),
            remedy(faults.keySet(), own)));
  }

  private static String more(int others) {
    return switch (others) {
      case 0 -> "";
      case 1 -> ", and one more plugin is damaged";
      default -> ", and %d more plugins are damaged".formatted(others);
    };
  }

  private static String remedy(Set<StoredPlugin> faulty, List<StoredPlugin> own) {
    List<String> steps = new ArrayList<>();
    String foreign =
        faulty.stream()
            .filter(plugin -> !own.contains(plugin))
            .map(plugin -> plugin.symbolicName() + " " + plugin.version())
            .collect(Collectors.joining(", "));
    if (!foreign.isEmpty()) {
      steps.add("push again before the next start (polisctl plugin push FILE): " + foreign);
    }
    if (own.stream().anyMatch(faulty::contains)) {
      steps.add("polisctl node restart --runtime restores what came with the distribution");
    }
    return String.join("; then ", steps);
  }

  /** Returns the fault of a plugin's files; empty if they are whole. */
  private Optional<String> fault(StoredPlugin plugin) {
    try {
      Optional<Path> file = store.file(plugin.digest());
      if (file.isEmpty()) {
        return bundleFault(plugin);
      }
      Optional<String> fault = fault(file.get(), () -> newFault(plugin, file.get()));
      return fault.isPresent() ? fault : manifestFault(plugin, file.get());
    } catch (IOException e) {
      return Optional.of(StoreFailure.words(e));
    }
  }

  private interface Reading {
    Optional<String> fault() throws IOException;
  }

  private Optional<String> fault(Path file, Reading reading) throws IOException {
    Stamp now = Stamp.of(file);
    Seen before = seen.get(file);
    if (before != null && before.stamp().equals(now)) {
      return before.faults().stream().findFirst();
    }
    Optional<String> fault = reading.fault();
    seen.put(file, new Seen(now, fault.stream().toList()));
    return fault;
  }

  /** Returns what is wrong with a bundle that was not seen before, or has changed since. */
  private Optional<String> newFault(StoredPlugin plugin, Path file) throws IOException {
    boolean first = !seen.containsKey(file);
    return first && store.isAsVerified(plugin) ? Optional.empty() : bundleFault(plugin);
  }

  private Optional<String> bundleFault(StoredPlugin plugin) throws IOException {
    try {
      store.verified(plugin);
      return Optional.empty();
    } catch (PluginStoreException e) {
      return Optional.of(e.fault());
    }
  }

  /** Returns the fault of a manifest; a manifest that never existed is no fault. */
  private Optional<String> manifestFault(StoredPlugin plugin, Path bundle) throws IOException {
    Path manifest = ManifestEnvelope.beside(bundle);
    String subject =
        "%s: the manifest of %s %s is "
            .formatted(manifest, plugin.symbolicName(), plugin.version());
    if (!Files.exists(manifest)) {
      return Optional.of(subject + "missing").filter(_ -> seen.containsKey(manifest));
    }
    return fault(
        manifest, () -> isOf(plugin, bundle) ? Optional.empty() : Optional.of(subject + "damaged"));
  }

  private static boolean isOf(StoredPlugin plugin, Path bundle) throws IOException {
    try {
      return ManifestEnvelope.read(bundle).content().digest().equals(plugin.digest());
    } catch (PluginRefusedException damaged) {
      return false;
    }
  }

  private HealthCondition withoutPointer() {
    return damaged(
        "%s is missing: the next start runs the plugins of the distribution, and no others"
            .formatted(store.folder().resolve("current")),
        "bring the file back from a copy; without one, restart the node (polisctl node restart --runtime) and push again what came from elsewhere");
  }

  private static HealthCondition damaged(String reason, String remedy) {
    return HealthCondition.degraded(DAMAGED, reason, remedy).dueTo("plugins");
  }
}
