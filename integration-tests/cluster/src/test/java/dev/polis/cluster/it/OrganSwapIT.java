package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Distribution;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.Tier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Stops and starts every organ of one running node, through the operator's command line. */
@Tag("longer")
class OrganSwapIT {

  /**
   * The rounds of two swaps before the JVM is counted again: if each swap, or each round, leaves a
   * thread behind, the growth exceeds chance.
   */
  private static final int ROUNDS = Tier.isLong() ? 15 : 3;

  /**
   * The threads that {@link #ROUNDS} rounds may add by chance: a call under way, an idle carrier of
   * virtual threads and the JVM's own compiler threads.
   */
  private static final int THREADS_BY_CHANCE = 2;

  private static final String SUPERVISED = "dev.polis.supervision.Node";

  /**
   * Enough calls that one that is not held would return, and few enough that the curator returns
   * within the ten seconds for which calls are held.
   */
  private static final int CALLS_OF_OTHERS = 3;

  @TempDir static Path directory;
  private static TestNode node;
  private static OwnerApi owner;
  private static String id;

  @BeforeAll
  static void start() throws Exception {
    node = TestNode.prepared(directory.resolve("n"), "127.0.22.1");
    node.up();
    node.takeOwnership();
    owner = OwnerApi.of(node);
    id = node.id();
  }

  @AfterAll
  static void stop() {
    if (owner != null) {
      owner.close();
    }
    node.close();
  }

  /** Returns the organs: the folders below bundles/ that are built into the distribution. */
  static List<String> organs() throws IOException {
    Path bundles = Path.of(System.getProperty("polis.repository"), "bundles");
    List<String> shipped =
        Files.readAllLines(Distribution.built().folder().resolve("bundles.list"));
    try (Stream<Path> folders = Files.list(bundles)) {
      List<String> organs =
          folders
              .map(folder -> "dev.polis." + folder.getFileName())
              .filter(name -> shipped.stream().anyMatch(line -> line.startsWith(name + " ")))
              .sorted()
              .toList();
      assertTrue(organs.size() >= 6, "the distribution has only the organs " + organs);
      return organs;
    }
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("organs")
  @DisplayName(
      "an organ is stopped and started under readers, a writer, a watcher and a log follower, and no"
          + " call fails")
  void anOrganIsSwapped(String organ) throws Exception {
    long etcd = node.etcd().pid();
    try (SteadyCaller reader = SteadyCaller.of(owner::clusterInfo);
        SteadyWriter writer = SteadyWriter.of(owner, id);
        SteadyStream nodes = SteadyStream.of("the nodes", owner::watchNodes);
        SteadyStream log = SteadyStream.of("the log", owner::followLog)) {
      reader.awaitMore("before the stop of " + organ);
      writer.awaitMore("before the stop of " + organ);
      // Counted before the stop: a follower whose stream ends meanwhile requests the newest line
      // again.
      int logged = log.received();
      assertEquals("RESOLVED", moved("stop", organ));
      assertEquals("ACTIVE", moved("start", organ));
      String after = "after " + organ + " was stopped and started";
      reader.awaitMore(after);
      writer.awaitMore(after);
      nodes.awaitMoreThan(nodes.received(), after);
      log.awaitMoreThan(logged, after);
      awaitHealthy(after);
      reader.check("while " + organ + " came back");
      writer.check("while " + organ + " came back");
      assertEquals(List.of(), writer.lost(), "lost acknowledged writes " + after);
    }
    assertEquals(id, node.id());
    assertEquals(etcd, node.etcd().pid(), "etcd was restarted by a swap of " + organ);
    assertEquals(List.of(), inactive());
  }

  private static String moved(String verb, String organ) throws Exception {
    JsonElement shown = node.json("bundle", verb, organ);
    JsonObject row = shown.isJsonArray() ? shown.getAsJsonArray().get(0).getAsJsonObject() : null;
    assertNotEquals(null, row, shown.toString());
    return row.get("state").getAsString();
  }

  private static void awaitHealthy(String when) throws Exception {
    Finished health = node.ctl("health", "--wait", "" + TestNode.PATIENCE.toSeconds());
    assertEquals(0, health.code(), when + ": " + health.all() + "\n" + node.said());
  }

  private static List<String> inactive() throws Exception {
    return node.json("bundle", "list").getAsJsonArray().asList().stream()
        .map(JsonElement::getAsJsonObject)
        .filter(bundle -> !bundle.get("state").getAsString().equals("ACTIVE"))
        .map(bundle -> bundle.get("name").getAsString())
        .toList();
  }

  @Test
  @DisplayName(
      "a call that begins while its organ is stopped is held, and answered by the next instance")
  void aCallIsHeld() throws Exception {
    assertEquals("RESOLVED", moved("stop", "dev.polis.curator"));
    try (SteadyCaller caller = SteadyCaller.of(owner::clusterInfo)) {
      // Another organ answers its own calls meanwhile.
      for (int call = 0; call < CALLS_OF_OTHERS; call++) {
        assertTrue(node.json("bundle", "list").getAsJsonArray().size() > 0);
      }
      int answered = caller.answered();
      assertEquals("ACTIVE", moved("start", "dev.polis.curator"));
      assertEquals(0, answered, "a call was answered by a curator that is stopped");
      caller.awaitMore("after the curator came back");
    }
    awaitHealthy("after the curator came back");
  }

  @Test
  @DisplayName("a bundle of the platform is not stopped, and the refusal names the reason")
  void thePlatformStandsStill() throws Exception {
    for (String bundle :
        List.of("dev.polis.rpc", "dev.polis.supervision", "org.apache.felix.scr")) {
      Finished refused = node.ctl("bundle", "stop", bundle);
      assertEquals(1, refused.code(), refused.all());
      assertTrue(refused.lastLine().contains(bundle), refused.lastLine());
      assertTrue(refused.lastLine().contains("stands still"), refused.lastLine());
      assertTrue(refused.lastLine().contains("dev.polis.curator"), refused.lastLine());
    }
    Finished unknown = node.ctl("bundle", "stop", "dev.polis.curatr");
    assertEquals(4, unknown.code(), unknown.all());
    assertTrue(unknown.lastLine().contains("dev.polis.curator"), unknown.lastLine());
    assertEquals(List.of(), inactive());
  }

  @Test
  @Tag("full")
  @DisplayName(
      "organs that are stopped and started leave no thread, no loader and no component behind")
  void nothingAccumulates() throws Exception {
    // One-time objects of the first swap are no leak.
    swapAll();
    JvmCensus before = JvmCensus.of(node.jvmPid(), directory);
    for (int round = 0; round < ROUNDS; round++) {
      swapAll();
    }
    List<String> left = new ArrayList<>();
    // Gives objects that are about to end the time to do so.
    Await.until(
        TestNode.PATIENCE,
        "nothing to be left",
        () -> {
          left.clear();
          left.addAll(left(before, JvmCensus.of(node.jvmPid(), directory)));
          return left.isEmpty();
        },
        () -> ROUNDS + " rounds left " + left);
  }

  /** Returns the counts that have grown. */
  private static List<String> left(JvmCensus before, JvmCensus after) throws IOException {
    List<String> left = new ArrayList<>();
    // A bundle that is stopped and started keeps its loader, so not one may be added.
    if (after.loaders() != before.loaders()) {
      left.add("%d loaders instead of %d".formatted(after.loaders(), before.loaders()));
    }
    assertTrue(
        after.components().size() >= organs().size(),
        "the counted components: " + after.components());
    after
        .components()
        .forEach(
            (component, count) -> {
              if (count != 1) {
                left.add(count + " objects of " + component);
              }
            });
    if (after.allThreads() > before.allThreads() + THREADS_BY_CHANCE) {
      left.add(
          "%d threads instead of %d:%s"
              .formatted(
                  after.allThreads(),
                  before.allThreads(),
                  JvmCensus.more(before.threads(), after.threads())));
    }
    int supervised = after.instances().getOrDefault(SUPERVISED, 0);
    int supervisedBefore = before.instances().getOrDefault(SUPERVISED, 0);
    if (supervised > supervisedBefore) {
      left.add(
          "%d nodes of the supervision tree instead of %d:%s"
              .formatted(
                  supervised,
                  supervisedBefore,
                  JvmCensus.more(before.instances(), after.instances())));
    }
    return left;
  }

  /** Swaps storage and network, on which all others depend, so that they stop and start, too. */
  private static void swapAll() throws Exception {
    for (String organ : List.of("dev.polis.storage", "dev.polis.network")) {
      moved("stop", organ);
      moved("start", organ);
      Await.until(
          TestNode.PATIENCE,
          "a call to be answered after a swap of " + organ,
          () -> !owner.clusterInfo().getCaCertificate().isEmpty());
    }
    awaitHealthy("after all organs were swapped");
  }
}
