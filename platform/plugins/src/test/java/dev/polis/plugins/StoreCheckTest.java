package dev.polis.plugins;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.health.HealthCondition;
import dev.polis.plugins.manifest.DistributionManifest;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PackOptions;
import dev.polis.plugins.manifest.PluginPacker;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.StoredPlugin;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Optional;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Damages a plugin store, and looks at it as a node that runs does. */
class StoreCheckTest {
  private static final Digest ORIGIN = Digest.of(new byte[0]);

  @TempDir private Path folder;
  private PluginStore store;
  private StoredPlugin own;
  private StoredPlugin foreign;
  private StoreCheck check;

  @BeforeEach
  void fill() throws Exception {
    store = PluginStore.open(folder.resolve("plugins"));
    own = put("dev.polis.own");
    foreign = put("org.example.foreign");
    store.putDistribution(ORIGIN, List.of(own));
    store.commit(ORIGIN, List.of(own, foreign));
    check = new StoreCheck(store);
    assertEquals(Optional.empty(), check.look());
  }

  private StoredPlugin put(String name) throws Exception {
    Path jar = folder.resolve(name + ".jar");
    Manifest manifest = new Manifest();
    Attributes headers = manifest.getMainAttributes();
    headers.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    headers.putValue("Bundle-ManifestVersion", "2");
    headers.putValue("Bundle-SymbolicName", name);
    headers.putValue("Bundle-Version", "1.0.0");
    try (OutputStream out = Files.newOutputStream(jar);
        JarOutputStream archive = new JarOutputStream(out, manifest)) {
      archive.finish();
    }
    StoredPlugin plugin = new StoredPlugin(name, "1.0.0", Digest.of(jar));
    put(plugin);
    return plugin;
  }

  private void put(StoredPlugin plugin) throws Exception {
    Path jar = folder.resolve(plugin.symbolicName() + ".jar");
    store.put(plugin, jar);
    store.putManifest(
        plugin,
        DistributionManifest.of(PluginPacker.describe(jar, PackOptions.NONE))
            .encode()
            .toByteArray());
  }

  private Path file(StoredPlugin plugin) {
    return store.file(plugin.digest()).orElseThrow();
  }

  private HealthCondition told(String reason) {
    HealthCondition told = check.look().orElseThrow();
    assertTrue(told.reason().contains(reason), told::reason);
    return told;
  }

  @Test
  @DisplayName("a deleted bundle is named until it is back, with the command that restores it")
  void deleted() throws Exception {
    Path gone = file(own);
    Files.delete(gone);

    HealthCondition told =
        told(gone + ": the file of dev.polis.own 1.0.0 is missing; the running code");

    assertTrue(told.remedy().startsWith("polisctl node restart --runtime restores"), told::remedy);
    put(own);
    assertEquals(Optional.empty(), check.look());
  }

  @Test
  @DisplayName("a bundle from elsewhere, which a start cannot restore, is to be pushed again first")
  void foreign() throws Exception {
    Files.delete(file(foreign));
    assertEquals(
        "push again before the next start (polisctl plugin push FILE): org.example.foreign 1.0.0",
        told("the file of org.example.foreign 1.0.0 is missing").remedy());

    Files.delete(file(own));
    HealthCondition both = told(", and one more plugin is damaged;");

    assertTrue(both.remedy().startsWith("push again before"), both::remedy);
    assertTrue(both.remedy().contains("; then polisctl node restart"), both::remedy);
  }

  @Test
  @DisplayName("a bundle that is cut off or overwritten is named until it is whole again")
  void damaged() throws Exception {
    byte[] content = Files.readAllBytes(file(own));
    Files.write(file(own), new byte[] {content[0]});
    told(file(own) + ": the file of dev.polis.own 1.0.0 is damaged");
    byte[] other = content.clone();
    other[other.length - 1]++;
    Files.write(file(own), other);
    told("is damaged");

    Files.write(file(own), content);

    assertEquals(Optional.empty(), check.look());
  }

  @Test
  @DisplayName("a manifest that is deleted, cut off or another plugin's is named until it is back")
  void manifests() throws Exception {
    Path manifest = ManifestEnvelope.beside(file(own));
    byte[] content = Files.readAllBytes(manifest);
    Files.delete(manifest);
    told(manifest + ": the manifest of dev.polis.own 1.0.0 is missing");
    Files.write(manifest, new byte[0]);
    told(manifest + ": the manifest of dev.polis.own 1.0.0 is damaged");
    Files.write(manifest, Files.readAllBytes(ManifestEnvelope.beside(file(foreign))));
    told("is damaged");

    Files.write(manifest, content);

    assertEquals(Optional.empty(), check.look());
  }

  @Test
  @DisplayName("a lost pointer, and a lost generation, are named with what the next start does")
  void pointer() throws Exception {
    Path generation = store.folder().resolve("generations/1");
    byte[] content = Files.readAllBytes(generation);
    Files.delete(generation);
    told(generation + ": the generation");
    Files.write(generation, content);
    assertEquals(Optional.empty(), check.look());

    Files.delete(store.folder().resolve("current"));

    told(store.folder().resolve("current") + " is missing: the next start runs");
  }

  @Test
  @DisplayName("a file is read again only after it has changed")
  void readOnce() throws Exception {
    Path notes = store.folder().resolve("checked");
    try (Stream<Path> all = Files.list(notes)) {
      for (Path note : all.toList()) {
        Files.delete(note);
      }
    }
    check.look();
    assertFalse(noted(own, notes) || noted(foreign, notes), "a file was read that is as it was");

    Files.setLastModifiedTime(file(own), FileTime.fromMillis(0));
    assertEquals(Optional.empty(), check.look());

    assertTrue(noted(own, notes), "the changed file was not read");
    assertFalse(noted(foreign, notes), "a file was read that is as it was");
  }

  @Test
  @DisplayName("the first look reads no file that is as it was when its digest was compared")
  void takenOver() throws Exception {
    // A note that says another checksum, which a reading of the file would put right.
    String other = Files.size(file(own)) + " 0\n";
    Path note = store.folder().resolve("checked").resolve(own.digest().hex());
    Await.until("a later time of the disk than that of the file", () -> isLater(note, other));

    assertEquals(Optional.empty(), new StoreCheck(store).look());
    assertEquals(other, Files.readString(note), "the first look has read a file");

    Files.setLastModifiedTime(file(own), FileTime.fromMillis(0));
    assertEquals(Optional.empty(), new StoreCheck(store).look());
    assertNotEquals(other, Files.readString(note), "a file that was touched was not read");
  }

  @Test
  @DisplayName("the first look reads a file that was damaged after its digest was compared")
  void damagedBefore() throws Exception {
    byte[] content = Files.readAllBytes(file(own));
    FileTime time = Files.getLastModifiedTime(file(own));
    content[content.length - 1]++;
    Files.write(file(own), content);
    Files.setLastModifiedTime(file(own), time);

    check = new StoreCheck(store);

    told(file(own) + ": the file of dev.polis.own 1.0.0 is damaged");
  }

  private boolean isLater(Path note, String content) throws IOException {
    Files.writeString(note, content);
    FileTime changed = (FileTime) Files.getAttribute(file(own), "unix:ctime");
    return Files.getLastModifiedTime(note).compareTo(changed) > 0;
  }

  private static boolean noted(StoredPlugin plugin, Path notes) {
    return Files.exists(notes.resolve(plugin.digest().hex()));
  }
}
