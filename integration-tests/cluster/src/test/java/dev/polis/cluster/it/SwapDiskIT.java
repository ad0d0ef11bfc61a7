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

/** Swaps a plugin while the disk of the plugin store is full, at each write in turn. */
@Tag("full")
class SwapDiskIT {
  private static final String BEFORE = "1.0.0";
  private static final String AFTER = "2.0.0";

  /** The space for the platform's bundles and the tests' additions. */
  private static final long PLENTY = 64L << 20;

  /** More pages than a swap needs, which writes some twenty files of a page or two. */
  private static final int MOST_PAGES = 40;

  /** The parts of a swap that write, the most specific first. */
  private static final List<String> PLACES =
      List.of("the journal", "the new generation", "the history", "the plugin store");

  @TempDir Path directory;

  @BeforeAll
  static void requireGround() {
    Needs.root("mounting a small disk");
  }

  @Test
  @DisplayName(
      "a disk full at any write of a swap: the old generation stays, with the remedy; then the new one runs")
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
      // A dry run stores the file; later writes need a run of their own.
      fill(disk, places, node, next, "--dry-run");
      fill(disk, places, node, next);
      assertEquals(List.of(AFTER), versions(node));
      System.out.println("a full disk was met by: " + places);
      requireMet(places, "the plugin store", "the journal", "the new generation");

      // The start must succeed without free space, although it writes.
      disk.leave(0);
      node.killJvm();
      node.up("--set", "dev.polis.plugins.healthy.ms=100");
      assertEquals(List.of(AFTER), versions(node));
      disk.leave(PLENTY);
      node.ctl("plugin", "rollback").requireSuccess("the swap after all full disks");
      assertEquals(List.of(BEFORE), versions(node));
    }
  }

  /** Swaps without free space, and with more after each refusal, until the swap succeeds. */
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

  /** Requires that nothing has changed, and that the message names the full disk. */
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

  /** Returns the running versions, and requires that they are those of the generation. */
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
