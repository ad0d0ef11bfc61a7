package dev.polis.plugins.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Tier;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.store.SwapNotes;
import dev.polis.plugins.store.SwapRecord;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Kills a swapping process, and checks the state that its next start would find. */
@Timeout(120)
class SwapKillTest {
  private static final int KILLS = Integer.getInteger("polis.kills", 100);

  /** The stages after which a kill follows at a random moment within {@link #LATER}. */
  private static final List<String> MOMENTS =
      List.of(
          SwapKillMain.BEGIN,
          "fetched",
          "resolved",
          "installed",
          "started",
          "proved",
          "switched",
          "gated",
          "committed");

  /** Longer than most stages, except the gates, which last a quarter of a second. */
  private static final Duration LATER = Duration.ofMillis(150);

  @TempDir Path folder;

  /** Returns each stage, or one each before the switch, at it and after the commit. */
  private static List<String> stages() {
    return Tier.current() == Tier.QUICK
        ? List.of("installed", "switched", "committed")
        : List.of("installed", "started", "proved", "switched", "gated", "committed", "retired");
  }

  @ParameterizedTest(name = "killed at {0}")
  @MethodSource("stages")
  @DisplayName("After a kill at any stage of a swap, the old or the new generation is whole")
  void killedAtAnyStage(String stage) throws Exception {
    killAt(stage);

    PluginStore store = PluginStore.open(folder.resolve("plugins"));
    Generation found = store.current().orElseThrow();
    boolean committed = Set.of("committed", "retired").contains(stage);
    assertEquals(committed ? 2 : 1, found.number());
    for (StoredPlugin plugin : found.plugins()) {
      assertTrue(Files.exists(store.verified(plugin)));
    }
    SwapRecord open = SwapNotes.of(store).underWay().orElseThrow();
    assertEquals(committed, open.target().equals(found.fingerprint()), open::toString);
  }

  @Test
  @Timeout(7200)
  @DisplayName("100 kills at random moments of swaps leave the old or the new generation whole")
  @Tag("long")
  void killedAtRandomMoments() throws Exception {
    // Only the first node's generation is needed.
    SwapFixture.start(folder).close();
    long seed = System.nanoTime();
    Random random = new Random(seed);
    int undone = 0;
    int committed = 0;
    for (int kill = 0; kill < KILLS; kill++) {
      String expected = "kill " + kill + " with the seed " + seed;
      Generation before = PluginStore.open(folder.resolve("plugins")).current().orElseThrow();
      killAfter(
          MOMENTS.get(random.nextInt(MOMENTS.size())),
          Duration.ofNanos(random.nextLong(LATER.toNanos())),
          "3." + kill + ".0");

      PluginStore store = PluginStore.open(folder.resolve("plugins"));
      Generation found = store.current().orElseThrow();
      assertTrue(found.number() - before.number() <= 1, expected);
      for (StoredPlugin plugin : found.plugins()) {
        assertTrue(Files.exists(store.verified(plugin)), expected);
      }
      Optional<SwapRecord> open = SwapNotes.of(store).underWay();
      if (open.isPresent()) {
        boolean wanted = open.get().target().equals(found.fingerprint());
        assertEquals(found.number() > before.number(), wanted, expected);
        // Does the same as the launcher at the next start.
        SwapNotes.of(store).ended(open.get().as(wanted ? "applied" : SwapRecord.CUT_OFF, ""));
        store.collect();
        undone += wanted ? 0 : 1;
      }
      committed += found.number() > before.number() ? 1 : 0;
    }
    System.out.printf(
        "%d kills at random moments of a swap: %d undone, %d committed, %d before it had begun%n",
        KILLS, undone, committed, KILLS - undone - committed);
    SwapFixture last = SwapFixture.resume(folder);
    try {
      SwapStatus end = last.run(SwapFixture.swap(last.base("4.0.0", "well")));
      assertInstanceOf(SwapOutcome.Applied.class, end.outcome().orElseThrow());
    } finally {
      last.close();
    }
  }

  private void killAfter(String moment, Duration delay, String version) throws Exception {
    Process child = child(version);
    try {
      awaitLine(child, moment);
      child.waitFor(delay.toNanos(), TimeUnit.NANOSECONDS);
    } finally {
      child.destroyForcibly().waitFor();
    }
  }

  private void killAt(String stage) throws Exception {
    Process child = child(stage);
    try {
      awaitLine(child, stage);
    } finally {
      child.destroyForcibly().waitFor();
    }
  }

  private static void awaitLine(Process child, String line) throws IOException {
    BufferedReader out =
        new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8));
    String read = out.readLine();
    while (read != null && !read.equals(line)) {
      read = out.readLine();
    }
    assertEquals(line, read, "the process ended before it reached the stage");
  }

  private Process child(String stage) throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-cp",
            System.getProperty("java.class.path"),
            SwapKillMain.class.getName(),
            folder.toString(),
            stage)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }
}
