package dev.polis.plugins.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.pki.Ed25519;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.manifest.TrustedKey;
import dev.polis.plugins.store.PluginStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KeptTrustTest {
  private static final TrustRoots ROOTS =
      new TrustRoots(
          List.of(
              new TrustedKey("release", Ed25519.generate().getPublic()),
              new TrustedKey("nightly", Ed25519.generate().getPublic())));

  @TempDir Path folder;
  private final List<String> audit = new ArrayList<>();
  private PluginStore store;

  @BeforeEach
  void open() throws Exception {
    store = PluginStore.open(folder.resolve("plugins"));
  }

  @Test
  @DisplayName("The trusted keys are available after a start without a cluster")
  void kept() {
    assertEquals(TrustRoots.NONE, trust().roots());

    assertTrue(trust().update(ROOTS));

    assertEquals(ROOTS, trust().roots());
    assertFalse(trust().update(ROOTS));
    assertEquals(List.of(), audit);
  }

  @Test
  @DisplayName("A key that the cluster no longer trusts leaves the copy once the node learns of it")
  void revoked() {
    trust().update(ROOTS);
    TrustRoots fewer = new TrustRoots(ROOTS.keys().subList(0, 1));

    trust().update(fewer);

    assertEquals(fewer, trust().roots());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "A removed key whose removal could not be written leaves the copy once it can be written")
  void removalIsWrittenLater() throws Exception {
    KeptTrust trust = trust();
    trust.update(ROOTS);
    TrustRoots fewer = new TrustRoots(ROOTS.keys().subList(0, 1));
    Path copy = store.folder().resolve("trusted-keys");
    Path aside = Files.move(copy, folder.resolve("aside"));
    Path inTheWay = Files.createDirectories(copy.resolve("in-the-way"));

    assertTrue(trust.update(fewer));
    assertFalse(trust.update(fewer));
    assertEquals(2, audit.size(), "each failure: " + audit);
    Files.delete(inTheWay);
    Files.delete(copy);
    Files.move(aside, copy);
    assertEquals(ROOTS, trust().roots(), "a start while it is not written");
    assertFalse(trust.update(fewer));

    assertEquals(fewer, trust().roots());
    assertEquals(2, audit.size(), audit::toString);
  }

  @Test
  @DisplayName("A copy that could not be read is written anew, also without trusted keys")
  void unreadIsWritten() throws Exception {
    trust().update(ROOTS);
    Path copy = store.folder().resolve("trusted-keys");
    Path aside = Files.move(copy, folder.resolve("aside"));
    Files.createDirectory(copy);
    KeptTrust trust = trust();
    assertEquals(TrustRoots.NONE, trust.roots());
    Files.delete(copy);
    Files.move(aside, copy);

    trust.update(TrustRoots.NONE);

    assertEquals(TrustRoots.NONE, trust().roots());
  }

  @Test
  @DisplayName("A damaged copy trusts no key, and the log says so")
  void damaged() throws Exception {
    trust().update(ROOTS);
    Files.writeString(store.folder().resolve("trusted-keys"), "no keys");

    assertEquals(TrustRoots.NONE, trust().roots());
    assertTrue(audit.getFirst().contains("is damaged"), audit::toString);
  }

  private KeptTrust trust() {
    return KeptTrust.open(store, audit::add);
  }
}
