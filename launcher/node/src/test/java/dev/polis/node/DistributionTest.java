package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.pki.Ed25519;
import dev.polis.plugins.manifest.PackOptions;
import dev.polis.plugins.manifest.PackageRequirement;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.PluginPacker;
import dev.polis.plugins.manifest.SignedManifest;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.manifest.TrustedKey;
import dev.polis.plugins.plan.BundleManifest;
import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.store.SwapNotes;
import dev.polis.plugins.store.SwapRecord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.osgi.framework.Version;
import org.osgi.framework.VersionRange;

/** Starts a node's store from one distribution, then from another. */
class DistributionTest {
  private static final KeyPair KEY = Ed25519.generate();

  @TempDir Path folder;
  private final List<String> screen = new ArrayList<>();
  private TestDistribution first;
  private PluginStore store;
  private Generation seeded;

  @BeforeEach
  void seed() throws Exception {
    first = new TestDistribution(folder.resolve("first"));
    store = PluginStore.open(folder.resolve("plugins"));
    seeded = start(first);
    assertEquals(List.of(), screen);
  }

  @Test
  @DisplayName("A new distribution silently replaces the former one's organs")
  void replacesItsOwn() throws Exception {
    TestDistribution next = new TestDistribution(folder.resolve("next"), "1.1.0");

    Generation generation = start(next);

    assertEquals(List.of("cluster 1.1.0", "kubernetes 1.1.0", "storage 1.1.0"), organs(generation));
    assertEquals(List.of(), screen);
    assertEquals(generation.plugins(), store.distribution().orElseThrow().plugins());
  }

  @Test
  @DisplayName(
      "A swapped organ stays, with its configuration, and both versions are printed at each start")
  void staysAndIsSaid() throws Exception {
    ConfigurationSet set =
        ConfigurationSet.none()
            .with("dev.polis.cluster", "port", "7")
            .with("dev.polis.cluster", "gone", "1");
    swapIn("storage", "1.0.5", List.of(), "0.1.0", set);
    TestDistribution next = new TestDistribution(folder.resolve("next"), "1.1.0");

    Generation generation = start(next);

    assertEquals(List.of("cluster 1.1.0", "kubernetes 1.1.0", "storage 1.0.5"), organs(generation));
    assertEquals(
        ConfigurationSet.none().with("dev.polis.cluster", "port", "7"), generation.configuration());
    String both =
        "dev.polis.storage runs in version 1.0.5, and this distribution has 1.1.0; polisctl plugin adopt dev.polis.storage takes that";
    assertTrue(screen.contains(both), screen::toString);
    assertTrue(
        screen.stream()
            .anyMatch(line -> line.startsWith("the configuration dev.polis.cluster.gone=1")),
        screen::toString);
    screen.clear();
    assertEquals(generation, start(next));
    assertEquals(List.of(both), screen);
  }

  @ParameterizedTest(name = "at generation {0}")
  @ValueSource(ints = {3, 4})
  @DisplayName("A disk that is full during the change of the distribution loses no swapped organ")
  void cutOff(int generation) throws Exception {
    ConfigurationSet set = ConfigurationSet.none().with("dev.polis.cluster", "port", "7");
    swapIn("storage", "1.0.5", List.of(), "0.1.0", set);
    TestDistribution next = new TestDistribution(folder.resolve("next"), "1.1.0");
    Path inTheWay =
        Files.createDirectories(
            store.folder().resolve("generations/" + generation).resolve("in-the-way"));
    assertThrows(IOException.class, () -> start(next));
    Files.delete(inTheWay);
    Files.delete(inTheWay.getParent());

    Generation taken = start(next);

    assertEquals(List.of("cluster 1.1.0", "kubernetes 1.1.0", "storage 1.0.5"), organs(taken));
    assertEquals(set, taken.configuration());
    assertEquals(
        List.of("cluster 1.1.0", "kubernetes 1.1.0", "storage 1.1.0"),
        organs(store.previous().orElseThrow()));
  }

  @Test
  @DisplayName(
      "The distribution's own bundles become the previous generation, so that failed starts fall back to them")
  void fallsBackToTheDistribution() throws Exception {
    swapIn("storage", "1.0.5", List.of(), "0.1.0", ConfigurationSet.none());
    TestDistribution next = new TestDistribution(folder.resolve("next"), "1.1.0");

    Generation generation = start(next);

    Generation before = store.previous().orElseThrow();
    assertEquals(List.of("cluster 1.1.0", "kubernetes 1.1.0", "storage 1.1.0"), organs(before));
    assertEquals(generation.origin(), before.origin());
  }

  @Test
  @DisplayName(
      "An organ that needs a newer platform, or a package in another version, does not stay, and is named")
  void doesNotFit() throws Exception {
    swapIn("storage", "1.0.5", List.of(), "999.0.0", ConfigurationSet.none());
    PackageRequirement boot =
        new PackageRequirement("dev.polis.base.boot", new VersionRange("[7,8)"), false);
    swapIn("kubernetes", "1.0.5", List.of(boot), "0.1.0", ConfigurationSet.none());
    TestDistribution next = new TestDistribution(folder.resolve("next"), "1.1.0");

    Generation generation = start(next);

    assertEquals(List.of("cluster 1.1.0", "kubernetes 1.1.0", "storage 1.1.0"), organs(generation));
    assertTrue(
        screen.stream().anyMatch(line -> line.contains("needs the platform in version 999.0.0")),
        screen::toString);
    assertTrue(
        screen.stream()
            .anyMatch(
                line ->
                    line.contains(
                        "imports the package dev.polis.base.boot [7.0.0,8.0.0), which the platform exports in version 1.")),
        screen::toString);
  }

  @Test
  @DisplayName("The same distribution leaves swapped organs in place")
  void sameDistribution() throws Exception {
    Generation swapped = swapIn("storage", "1.0.5", List.of(), "0.1.0", ConfigurationSet.none());

    assertEquals(swapped, start(first));
    assertEquals(seeded.plugins(), store.distribution().orElseThrow().plugins());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "A plugin whose key is trusted starts; one whose key was removed does not, and is named")
  void signaturesCountAtEachStart() throws Exception {
    TrustRoots trusted = new TrustRoots(List.of(new TrustedKey("release", KEY.getPublic())));
    Generation swapped = swapIn("storage", "1.0.5", List.of(), "0.1.0", ConfigurationSet.none());
    assertEquals(swapped, allowed(trusted, swapped));
    assertEquals(List.of(), screen);

    Generation without = allowed(TrustRoots.NONE, swapped);

    assertEquals(List.of("cluster 1.0.0", "kubernetes 1.0.0", "storage 1.0.0"), organs(without));
    assertEquals(Optional.of(without), store.current());
    String why = screen.getLast();
    assertTrue(why.contains("dev.polis.storage 1.0.5 may not run any more"), why);
    assertTrue(why.contains("version 1.0.0 runs"), why);
    assertTrue(why.contains("which this cluster does not trust"), why);
    SwapRecord noted = SwapNotes.of(store).history().getLast();
    assertEquals(SwapRecord.NOT_TRUSTED, noted.outcome());
    assertEquals(why, noted.reason());
    assertEquals(without, allowed(TrustRoots.NONE, without), "the next start");
  }

  @Test
  @DisplayName("The newest allowed version starts in place of one whose key was removed")
  void theNewestThatMay() throws Exception {
    TrustRoots trusted = new TrustRoots(List.of(new TrustedKey("release", KEY.getPublic())));
    swapIn("storage", "1.0.5", List.of(), "0.1.0", ConfigurationSet.none());
    KeyPair stolen = Ed25519.generate();
    Generation swapped =
        swapIn("storage", "1.0.6", List.of(), "0.1.0", ConfigurationSet.none(), stolen);

    Generation generation = allowed(trusted, swapped);

    assertEquals(List.of("cluster 1.0.0", "kubernetes 1.0.0", "storage 1.0.5"), organs(generation));
  }

  private Generation allowed(TrustRoots roots, Generation generation) throws Exception {
    return new TrustAtStart(store, new Distribution(first.folder()), roots, screen::add)
        .allowed(generation);
  }

  private Generation start(TestDistribution distribution) throws Exception {
    return new Distribution(distribution.folder()).seed(store, screen::add);
  }

  /** Makes another version of an organ current, with a signature, as a swap does. */
  private Generation swapIn(
      String organ,
      String version,
      List<PackageRequirement> packages,
      String platform,
      ConfigurationSet configuration)
      throws Exception {
    return swapIn(organ, version, packages, platform, configuration, KEY);
  }

  private Generation swapIn(
      String organ,
      String version,
      List<PackageRequirement> packages,
      String platform,
      ConfigurationSet configuration,
      KeyPair key)
      throws Exception {
    Path jar = new TestDistribution(folder.resolve(organ + version), version).bundle(organ);
    PluginManifest described = PluginPacker.describe(jar, PackOptions.NONE);
    PluginManifest manifest =
        new PluginManifest(
            described.symbolicName(),
            described.version(),
            described.digest(),
            described.size(),
            described.provides(),
            packages,
            new Version(platform));
    BundleManifest bundle = BundleManifest.read(jar);
    StoredPlugin plugin = new StoredPlugin(bundle.symbolicName(), bundle.version(), Digest.of(jar));
    store.put(plugin, jar);
    store.putManifest(
        plugin, SignedManifest.sign(manifest, key.getPrivate()).encode().toByteArray());
    Generation current = store.current().orElseThrow();
    List<StoredPlugin> plugins = new ArrayList<>(current.plugins());
    plugins.removeIf(each -> each.symbolicName().equals(plugin.symbolicName()));
    plugins.add(plugin);
    return store.commit(current.origin(), plugins, configuration);
  }

  /** Returns the organs of a generation: {@code storage 1.0.0}. */
  private static List<String> organs(Generation generation) {
    return generation.plugins().stream()
        .filter(plugin -> plugin.symbolicName().startsWith("dev.polis."))
        .map(plugin -> plugin.symbolicName().replace("dev.polis.", "") + " " + plugin.version())
        .toList();
  }
}
