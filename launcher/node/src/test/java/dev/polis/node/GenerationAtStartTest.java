package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.store.SwapNotes;
import dev.polis.plugins.store.SwapRecord;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GenerationAtStartTest {
  private static final Digest ORIGIN = Digest.of("a distribution".getBytes(StandardCharsets.UTF_8));

  @TempDir Path folder;
  private final List<String> screen = new ArrayList<>();
  private PluginStore store;
  private SwapNotes notes;

  @BeforeEach
  void open() throws Exception {
    store = PluginStore.open(folder.resolve("plugins"));
    notes = SwapNotes.of(store);
  }

  @Test
  @DisplayName(
      "After three starts that failed, the previous generation runs, and the screen says so")
  void fallsBack() throws Exception {
    Generation first = commit("1.0.0");
    Generation second = commit("2.0.0");
    for (int start = 0; start < GenerationAtStart.FAILED_STARTS; start++) {
      assertEquals(second, start());
    }

    Generation fallback = start();

    assertEquals(first.plugins(), fallback.plugins());
    assertEquals(3, fallback.number());
    assertEquals(Optional.of(fallback), store.current());
    assertTrue(screen.getLast().contains("did not come up in 3 starts"), screen::toString);
    assertEquals(SwapRecord.FELL_BACK, notes.history().getLast().outcome());
    assertTrue(notes.failed(second.fingerprint()).isPresent(), "it may be tried again");
  }

  @Test
  @DisplayName("A successful start ends the count")
  void comingUpEndsTheCount() throws Exception {
    commit("1.0.0");
    Generation second = commit("2.0.0");
    for (int start = 0; start < 10; start++) {
      assertEquals(second, start());
      if (start % 2 == 0) {
        new GenerationAtStart(store, screen::add).cameUp();
      }
    }
    assertEquals(List.of(), screen);
  }

  @Test
  @DisplayName("The first generation of a distribution is started after any number of failures")
  void noWayBack() throws Exception {
    Generation only = commit("1.0.0");
    for (int start = 0; start < 5; start++) {
      assertEquals(only, start());
    }
  }

  @Test
  @DisplayName("A swap that was cut off is undone, and the history names the stage")
  void cutOff() throws Exception {
    Generation current = commit("1.0.0");
    notes.underWay(swap(Digest.of(new byte[0]), "gate"));

    assertEquals(current, start());

    assertEquals(Optional.empty(), notes.underWay());
    SwapRecord ended = notes.history().getLast();
    assertEquals("reverted", ended.outcome());
    assertTrue(ended.reason().contains("(gate)"), ended.reason());
    assertTrue(screen.getLast().contains("ordered by ann"), screen::toString);
  }

  @Test
  @DisplayName("A swap during which the process ended twice is not tried again")
  void cutOffTwice() throws Exception {
    commit("1.0.0");
    Digest target = Digest.of(new byte[0]);
    notes.underWay(swap(target, "starting"));
    start();
    assertEquals(Optional.empty(), notes.failed(target), "once may be a power cut");

    notes.underWay(swap(target, "starting"));
    start();

    String reason = notes.failed(target).orElseThrow().reason();
    assertTrue(reason.contains("ended 2 times during this swap"), reason);
    notes.forgive(target);
    notes.underWay(swap(target, "starting"));
    start();
    assertEquals(Optional.empty(), notes.failed(target), "a forgiven failure does not count");
  }

  @Test
  @DisplayName(
      "Each swap that could not be reverted is named at the next start, and does not count")
  void couldNotRevert() throws Exception {
    commit("1.0.0");
    Digest target = Digest.of(new byte[0]);
    for (int second = 0; second < GenerationAtStart.CUT_OFFS; second++) {
      SwapRecord swap = swap(target, "installed", Instant.ofEpochSecond(second));
      notes.underWay(swap);
      notes.ended(swap.as(SwapRecord.COULD_NOT_REVERT, "it hangs"));
    }

    start();

    assertEquals(2, screen.size(), screen::toString);
    assertTrue(screen.getLast().contains("what could not be reverted"), screen::toString);
    assertEquals(
        List.of("could not revert", "could not revert", "reverted", "reverted"),
        notes.history().stream().map(SwapRecord::outcome).toList());
    assertEquals(Optional.empty(), notes.failed(target), "the process did not end because of them");
    start();
    assertEquals(2, screen.size(), screen::toString);
  }

  @Test
  @DisplayName("A swap that was cut off after its commit counts as applied")
  void cutOffAfterTheCommit() throws Exception {
    commit("1.0.0");
    Generation second = commit("2.0.0");
    notes.underWay(swap(second.fingerprint(), "committing"));

    assertEquals(second, start());

    assertEquals("applied", notes.history().getLast().outcome());
  }

  @Test
  @DisplayName("Configurations belong to a generation and are read back")
  void configurations() throws Exception {
    Generation first = commit("1.0.0");
    ConfigurationSet set =
        ConfigurationSet.none()
            .with("dev.polis.metrics", "port", "7940")
            .with("dev.polis.logtree", "console", "=ERROR, root=INFO\nä")
            .with("dev.polis.network", "empty", "");
    store.commit(ORIGIN, first.plugins(), set);

    assertEquals(
        set, PluginStore.open(folder.resolve("plugins")).current().orElseThrow().configuration());
    assertEquals(first, store.previous().orElseThrow());
  }

  private Generation start() throws Exception {
    return new GenerationAtStart(store, screen::add).choose(store.current().orElseThrow());
  }

  private static SwapRecord swap(Digest target, String stage) {
    return swap(target, stage, Instant.now());
  }

  private static SwapRecord swap(Digest target, String stage, Instant began) {
    return new SwapRecord(began, "ann", "swap of x.jar", 1, target, stage, "", Set.of());
  }

  private Generation commit(String version) throws Exception {
    byte[] content = version.getBytes(StandardCharsets.UTF_8);
    StoredPlugin plugin = new StoredPlugin("dev.polis.storage", version, Digest.of(content));
    store.put(plugin, Files.write(folder.resolve(version), content));
    return store.commit(ORIGIN, List.of(plugin));
  }
}
