package dev.polis.plugins.store;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Makes sets of plugins whose "bundles" are a few bytes of text. */
final class StoreFixture {
  static final Digest ORIGIN = Digest.of("a distribution".getBytes(StandardCharsets.UTF_8));

  private StoreFixture() {}

  static StoredPlugin plugin(String name, String version) {
    return new StoredPlugin(name, version, Digest.of(content(name, version)));
  }

  static List<StoredPlugin> plugins(String version) {
    return Stream.of("dev.polis.storage", "dev.polis.network", "dev.polis.cluster")
        .map(name -> plugin(name, version))
        .toList();
  }

  static Path source(Path folder, StoredPlugin plugin) throws IOException {
    Path file = folder.resolve(plugin.symbolicName() + "-" + plugin.version() + ".jar");
    return Files.write(file, content(plugin.symbolicName(), plugin.version()));
  }

  static Generation install(PluginStore store, Path sources, List<StoredPlugin> plugins)
      throws IOException, PluginStoreException {
    for (StoredPlugin plugin : plugins) {
      store.put(plugin, source(sources, plugin));
    }
    return store.commit(ORIGIN, plugins);
  }

  private static byte[] content(String name, String version) {
    return ("the bundle " + name + " " + version).getBytes(StandardCharsets.UTF_8);
  }
}
