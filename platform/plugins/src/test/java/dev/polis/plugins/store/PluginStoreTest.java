package dev.polis.plugins.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.UnforcedException;
import dev.polis.fixtures.TestThreads;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class PluginStoreTest {
  @TempDir Path folder;
  Path root;
  PluginStore store;

  @BeforeEach
  void open() throws Exception {
    root = folder.resolve("plugins");
    store = PluginStore.open(root);
  }

  @Test
  @DisplayName("A new store has no generation")
  void newStoreIsEmpty() throws Exception {
    assertEquals(Optional.empty(), store.current());
    assertEquals(0, store.collect());
  }

  @Test
  @DisplayName("A committed set is read back by another instance")
  void committedSetIsReadBack() throws Exception {
    Generation committed = StoreFixture.install(store, folder, StoreFixture.plugins("1.0.0"));

    PluginStore again = PluginStore.open(root);

    assertEquals(Optional.of(committed), again.current());
    for (StoredPlugin plugin : committed.plugins()) {
      assertEquals(plugin.digest(), Digest.of(again.verified(plugin)));
    }
  }

  @Test
  @Timeout(60)
  @DisplayName("The current generation is read while a commit hangs at the disk")
  void readWhileACommitHangs() throws Exception {
    Generation first = StoreFixture.install(store, folder, StoreFixture.plugins("1.0.0"));
    CountDownLatch hangs = new CountDownLatch(1);
    CountDownLatch goesOn = new CountDownLatch(1);
    PluginStore slow =
        PluginStore.open(
            root,
            step -> {
              if (step == StoreStep.GENERATION_WRITTEN) {
                hangs.countDown();
                awaitQuietly(goesOn);
              }
            });
    try (ExecutorService threads = new TestThreads()) {
      Future<Generation> second =
          threads.submit(() -> StoreFixture.install(slow, folder, StoreFixture.plugins("2.0.0")));
      assertTrue(hangs.await(20, TimeUnit.SECONDS), "the commit has not begun");
      Future<Optional<Generation>> read = threads.submit(slow::current);

      assertEquals(Optional.of(first), read.get(20, TimeUnit.SECONDS));
      goesOn.countDown();
      assertEquals(Optional.of(second.get(20, TimeUnit.SECONDS)), slow.current());
    } finally {
      goesOn.countDown();
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException endOfTest) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  @DisplayName("A generation is read while later ones are committed and it is deleted")
  void readWhileGenerationsGo() throws Exception {
    StoreFixture.install(store, folder, StoreFixture.plugins("1.0.0"));
    AtomicBoolean over = new AtomicBoolean();
    try (ExecutorService threads = new TestThreads()) {
      Future<Integer> reads =
          threads.submit(
              () -> {
                int count = 0;
                while (!over.get()) {
                  assertTrue(store.current().isPresent());
                  count++;
                }
                return count;
              });
      for (int commits = 0; commits < 100; commits++) {
        store.commit(StoreFixture.ORIGIN, StoreFixture.plugins("1.0.0"));
        store.collect();
      }
      over.set(true);
      assertTrue(reads.get(20, TimeUnit.SECONDS) > 0);
    }
  }

  @Test
  @DisplayName("A commit whose last force fails restores the former pointer")
  void failedCommitPointsBack() throws Exception {
    StoreFixture.install(store, folder, StoreFixture.plugins("1.0.0"));
    Path pointer = root.resolve("current");
    String former = Files.readString(pointer);
    PluginStore failing =
        PluginStore.open(
            root,
            step -> {
              if (step == StoreStep.POINTER_RENAMED) {
                move(root, folder.resolve("gone"));
              }
            });

    assertThrows(
        UnforcedException.class,
        () -> StoreFixture.install(failing, folder, StoreFixture.plugins("2.0.0")));

    assertEquals(former, Files.readString(pointer));
  }

  private static void move(Path from, Path to) {
    try {
      Files.move(from, to);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  @DisplayName(
      "A commit with a fallback switches to both generations or to neither, with an end at any step")
  void bothOrNeither() throws Exception {
    boolean ended = false;
    for (int last = 0; !ended; last++) {
      Path place = folder.resolve("cut-off-" + last);
      PluginStore before = PluginStore.open(place);
      Generation former = StoreFixture.install(before, folder, StoreFixture.plugins("1.0.0"));
      for (String version : List.of("2.0.0", "3.0.0")) {
        for (StoredPlugin plugin : StoreFixture.plugins(version)) {
          before.put(plugin, StoreFixture.source(folder, plugin));
        }
      }
      ended = commitsWithWayBack(place, last);

      PluginStore after = PluginStore.open(place);
      Generation found = after.current().orElseThrow();
      if (found.equals(former)) {
        assertFalse(ended, "it ended without a switch");
        continue;
      }
      assertEquals(3, found.number());
      assertEquals(versions("3.0.0"), Set.copyOf(found.plugins()));
      assertEquals(versions("2.0.0"), Set.copyOf(after.previous().orElseThrow().plugins()));
    }
  }

  /** Commits two generations; returns false if a limit of steps ended it. */
  private static boolean commitsWithWayBack(Path place, int steps) throws Exception {
    AtomicInteger left = new AtomicInteger(steps);
    PluginStore store =
        PluginStore.open(
            place,
            step -> {
              if (left.getAndDecrement() == 0) {
                throw new IllegalStateException("ended by the test after " + step);
              }
            });
    try {
      store.commitWithWayBack(
          StoreFixture.ORIGIN,
          StoreFixture.plugins("2.0.0"),
          StoreFixture.plugins("3.0.0"),
          ConfigurationSet.none());
      return true;
    } catch (IllegalStateException byTheTest) {
      return false;
    }
  }

  private static Set<StoredPlugin> versions(String version) {
    return Set.copyOf(StoreFixture.plugins(version));
  }

  @Test
  @DisplayName("Generations are numbered upwards and share equal files")
  void generationsShareFiles() throws Exception {
    StoreFixture.install(store, folder, StoreFixture.plugins("1.0.0"));
    Generation second = StoreFixture.install(store, folder, StoreFixture.plugins("1.0.0"));

    assertEquals(2, second.number());
    assertEquals(3, count("files"));
  }

  @Test
  @DisplayName("A file with another digest is not stored, and leaves nothing behind")
  void wrongFileIsRefused() throws Exception {
    StoredPlugin plugin = StoreFixture.plugin("dev.polis.storage", "1.0.0");
    Path wrong = Files.writeString(folder.resolve("wrong.jar"), "something else");

    PluginStoreException refusal =
        assertThrows(PluginStoreException.class, () -> store.put(plugin, wrong));

    assertEquals(wrong, refusal.file());
    assertTrue(refusal.getMessage().contains("dev.polis.storage"), refusal.getMessage());
    assertEquals(0, count("files"));
  }

  @Test
  @DisplayName("A set with a missing file is not committed")
  void missingFileIsNotCommitted() throws Exception {
    List<StoredPlugin> plugins = StoreFixture.plugins("1.0.0");

    assertThrows(PluginStoreException.class, () -> store.commit(StoreFixture.ORIGIN, plugins));

    assertEquals(Optional.empty(), store.current());
  }

  @Test
  @DisplayName("A damaged file is refused by name, and a new put heals it")
  void damagedFileIsRefusedAndHealed() throws Exception {
    Generation generation = StoreFixture.install(store, folder, StoreFixture.plugins("1.0.0"));
    StoredPlugin victim = generation.plugins().getFirst();
    Path file = store.verified(victim);
    Files.writeString(file, "bit rot");

    PluginStoreException refusal =
        assertThrows(PluginStoreException.class, () -> store.verified(victim));

    assertEquals(file, refusal.file());
    assertTrue(refusal.getMessage().contains("damaged"), refusal.getMessage());
    store.put(victim, StoreFixture.source(folder, victim));
    assertEquals(victim.digest(), Digest.of(store.verified(victim)));
  }

  @Test
  @Tag("attack")
  @DisplayName("One flipped bit is found although the digest was compared before")
  void flippedBitIsFound() throws Exception {
    Generation generation = StoreFixture.install(store, folder, StoreFixture.plugins("1.0.0"));
    StoredPlugin victim = generation.plugins().getFirst();
    Path file = store.verified(victim);
    byte[] content = Files.readAllBytes(file);
    content[content.length / 2] ^= 1;
    FileTime before = Files.getLastModifiedTime(file);
    Files.write(file, content);
    Files.setLastModifiedTime(file, before);

    assertThrows(PluginStoreException.class, () -> store.verified(victim));
  }

  @Test
  @DisplayName("A lost or garbled note costs one computation of a digest, and is made again")
  void notesAreNotTheTruth() throws Exception {
    Generation generation = StoreFixture.install(store, folder, StoreFixture.plugins("1.0.0"));
    StoredPlugin plugin = generation.plugins().getFirst();
    Path note = root.resolve("checked").resolve(plugin.digest().hex());
    String whole = Files.readString(note);

    Files.writeString(note, "");
    store.verified(plugin);
    assertEquals(whole, Files.readString(note));

    Files.delete(note);
    store.verified(plugin);
    assertEquals(whole, Files.readString(note));
  }

  @Test
  @DisplayName("Notes are deleted with their files")
  void notesGoWithTheirFiles() throws Exception {
    StoreFixture.install(store, folder, StoreFixture.plugins("1.0.0"));
    StoreFixture.install(store, folder, StoreFixture.plugins("2.0.0"));
    StoreFixture.install(store, folder, StoreFixture.plugins("3.0.0"));

    store.collect();

    assertEquals(count("files"), count("checked"));
  }

  @Test
  @DisplayName(
      "Garbage in the pointer is refused with the reason, and not treated as an empty store")
  void garbledPointerIsRefused() throws Exception {
    StoreFixture.install(store, folder, StoreFixture.plugins("1.0.0"));
    for (String garbage : List.of("", "7", "x y", "1 2 3", "1 0000", "\u0000\u0000\u00ff")) {
      Files.writeString(root.resolve("current"), garbage);

      PluginStoreException refusal =
          assertThrows(PluginStoreException.class, store::current, garbage);

      assertTrue(refusal.getMessage().contains("garbled"), refusal.getMessage());
      assertTrue(
          refusal.getMessage().contains("move the store's folder aside"), refusal.getMessage());
    }
  }

  @Test
  @DisplayName("A generation that was changed or is missing is refused")
  void changedGenerationIsRefused() throws Exception {
    StoreFixture.install(store, folder, StoreFixture.plugins("1.0.0"));
    Path file = root.resolve("generations/1");
    Files.writeString(file, Files.readString(file).replace("1.0.0", "1.0.1"));
    assertTrue(
        assertThrows(PluginStoreException.class, store::current).getMessage().contains("damaged"));

    Files.delete(file);
    assertTrue(
        assertThrows(PluginStoreException.class, store::current).getMessage().contains("missing"));
  }

  @Test
  @DisplayName("Collection keeps the current generation and the one before it")
  void collectionKeepsTwoGenerations() throws Exception {
    StoreFixture.install(store, folder, StoreFixture.plugins("1.0.0"));
    StoreFixture.install(store, folder, StoreFixture.plugins("2.0.0"));
    Generation third = StoreFixture.install(store, folder, StoreFixture.plugins("3.0.0"));

    int deleted = store.collect();

    assertEquals(3, deleted);
    assertFalse(Files.exists(root.resolve("generations/1")));
    assertTrue(Files.exists(root.resolve("generations/2")));
    assertEquals(Optional.of(third), store.current());
    for (StoredPlugin plugin : StoreFixture.plugins("2.0.0")) {
      store.verified(plugin);
    }
  }

  @Test
  @DisplayName("A plugin manifest is kept beside its file, and deleted with it")
  void manifestsGoWithTheirFiles() throws Exception {
    for (String version : List.of("1.0.0", "2.0.0", "3.0.0")) {
      StoreFixture.install(store, folder, StoreFixture.plugins(version));
      for (StoredPlugin plugin : StoreFixture.plugins(version)) {
        store.putManifest(plugin, version.getBytes(StandardCharsets.UTF_8));
      }
    }

    store.collect();

    assertEquals(12, count("files"), "six files and their manifests");
    Path file = store.verified(StoreFixture.plugins("3.0.0").getFirst());
    assertEquals("3.0.0", Files.readString(file.resolveSibling(file.getFileName() + ".plugin")));
  }

  @Test
  @DisplayName("A set that was written but never made current is not mistaken for the previous one")
  void abandonedGenerationIsNotTheWayBack() throws Exception {
    StoreFixture.install(store, folder, StoreFixture.plugins("1.0.0"));
    Files.writeString(root.resolve("generations/2"), "left by a crash");

    Generation second = StoreFixture.install(store, folder, StoreFixture.plugins("2.0.0"));
    store.collect();

    assertEquals(2, second.number());
    assertTrue(Files.exists(root.resolve("generations/1")));
  }

  private long count(String part) throws Exception {
    try (var files = Files.list(root.resolve(part))) {
      return files.count();
    }
  }
}
