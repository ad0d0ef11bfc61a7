package dev.polis.plugins;

import dev.polis.fixtures.power.PowerScenario;
import dev.polis.pki.Ed25519;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.manifest.TrustedKey;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.swap.KeptTrust;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Writes the keys that the cluster trusts. */
final class TrustScenario implements PowerScenario {

  private final TrustedKey first = new TrustedKey("first", Ed25519.generate().getPublic());
  private final TrustedKey second = new TrustedKey("second", Ed25519.generate().getPublic());

  @Override
  public List<Step> steps() {
    return List.of(
        root -> PluginStore.open(root.resolve("store")),
        root -> trust(root).update(new TrustRoots(List.of(first))),
        root -> trust(root).update(new TrustRoots(List.of(first, second))));
  }

  private static KeptTrust trust(Path root) throws IOException {
    return KeptTrust.open(
        PluginStore.open(root.resolve("store")),
        line -> {
          throw new IllegalStateException(line);
        });
  }

  @Override
  public String observe(Path root) throws Exception {
    // Opening the store makes these folders.
    for (String folder : List.of("store/files", "store/generations", "store/staged")) {
      if (Files.notExists(root.resolve(folder))) {
        return "no store";
      }
    }
    return trust(root).roots().keys().stream().map(TrustedKey::name).toList().toString();
  }
}
