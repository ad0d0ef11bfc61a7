package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.SmallDisk;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Swaps a plugin while the disk of the plugin store is full at one write after the other. */
@Tag("full")
class SwapDiskIT {
  private static final String BEFORE = "1.0.0";
  private static final String AFTER = "2.0.0";

  /** The platform's bundles and what tests add to them. */
  private static final long PLENTY = 64L << 20;

  /** A swap writes some twenty files of a page or two; more room leads nowhere. */
  private static final int MOST_PAGES = 40;

  /** The parts of a swap that write, the most particular first. */
  private static final List<String> PLACES =
      List.of("the journal", "the new generation", "the history", "the plugin store");

  @TempDir Path directory;

  @BeforeAll
  static void requireGround() {
    Needs.root("mounting a small disk");
  }

  @Test
  @DisplayName(
      "a disk full at each write of a swap: the old generation, with what to do; then the new one")
  void fullAtEachWrite() throws Exception {
    Path state = directory.resolve("n");
    try (SmallDisk disk = SmallDisk.mounted(state.resolve("plugins"));
        TestNode node = TestNode.prepared(state, "127.0.35.5")) {
      disk.leave(PLENTY);
      node.up("--set", "dev.polis.plugins.healthy.ms=100");
      node.takeOwnership();
      FaultyPlugins plugins = FaultyPlugins.of(node, directory.resolve("made"));
      swap(node, plugins.version(BEFORE, FaultyPlugins.WELL)).requireSuccess("the first version");
      Path next = plugins.version(AFTER, FaultyPlugins.WELL);

      Map<String, Integer> places = new TreeMap<>();
      // A dry run stores the file; the writes behind that need a turn of their own.
      fill(disk, places, node, next, "--dry-run");
      fill(disk, places, node, next);
      assertEquals(List.of(AFTER), versions(node));
      System.out.println("a full disk was met by: " + places);
      requireMet(places, "the plugin store", "the journal", "the new generation");

      // The start writes, too: it goes without.
      disk.leave(0);
      node.killJvm();
      node.up("--set", "dev.polis.plugins.healthy.ms=100");
      assertEquals(List.of(AFTER), versions(node));
      disk.leave(PLENTY);
      node.ctl("plugin", "rollback").requireSuccess("the swap after all full disks");
      assertEquals(List.of(BEFORE), versions(node));
    }
  }

  /** Swaps with no room, and with more after each refusal, until it is carried out. */
  private static void fill(
      SmallDisk disk, Map<String, Integer> places, TestNode node, Path next, String... options)
      throws Exception {
    int pages = 0;
    disk.leave(0);
    for (Finished end = swap(node, next, options);
        end.code() != 0;
        end = swap(node, next, options)) {
      requireRefused(node, end, places);
      assertTrue(++pages < MOST_PAGES, places::toString);
      disk.leave(pages * SmallDisk.PAGE);
    }
  }

  /** Expects that nothing has changed, and that it is said where room was missing. */
  private static void requireRefused(TestNode node, Finished swap, Map<String, Integer> places)
      throws Exception {
    String end = swap.lastLine();
    System.out.println(end);
    assertTrue(end.contains("No space left on device"), swap::all);
    assertTrue(end.contains("free some space"), swap::all);
    assertEquals(List.of(BEFORE), versions(node), swap::all);
    for (String place : PLACES) {
      if (end.contains(place + " ")) {
        places.merge(place, 1, Integer::sum);
        return;
      }
    }
    throw new AssertionError("no place is named: " + end);
  }

  private static void requireMet(Map<String, Integer> places, String... wanted) {
    for (String each : wanted) {
      assertTrue(places.containsKey(each), () -> each + " never met a full disk: " + places);
    }
  }

  private static Finished swap(TestNode node, Path plugin, String... options) {
    return node.ctl(
        Stream.concat(Stream.of("plugin", "swap", plugin.toString()), Stream.of(options))
            .toArray(String[]::new));
  }

  /** Returns the versions that run, which are those of the generation. */
  private static List<String> versions(TestNode node) throws Exception {
    List<String> running = versions(node, "bundle");
    assertEquals(versions(node, "plugin"), running);
    return running;
  }

  private static List<String> versions(TestNode node, String command) throws Exception {
    return node.json(command, "list").getAsJsonArray().asList().stream()
        .map(JsonElement::getAsJsonObject)
        .filter(row -> row.get("name").getAsString().equals(FaultyPlugins.NAME))
        .map(row -> row.get("version").getAsString())
        .toList();
  }
}
