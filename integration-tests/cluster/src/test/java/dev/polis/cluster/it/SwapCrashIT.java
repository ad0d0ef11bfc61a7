package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.CrashAgent;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.Tier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Ends the processes of a node during swaps, and expects from the next start the old or the new
 * generation, and every acknowledged write. {@code -Dpolis.seed=N} repeats the moments of a run.
 */
@Tag("full")
@Tag("longer")
class SwapCrashIT {
  private static final boolean LONG = Tier.isLong();

  /** The number of kills; in the short form one, whose kind moves from run to run. */
  private static final int KILLS = Integer.getInteger("polis.kills", LONG ? 40 : 1);

  private static final long SEED = Long.getLong("polis.seed", System.nanoTime());

  private static final String PASSED = "dev.polis.plugins.swap.SwapRun.passed";
  private static final String STORE = "dev.polis.plugins.store.PluginStore.";
  private static final String NOTES = "dev.polis.plugins.store.SwapNotes.";

  /** The plugin that holds the cluster's records, the one that runs etcd, and an outside one. */
  private static final List<String> PLUGINS =
      List.of("dev.polis.curator", "dev.polis.consensus", FaultyPlugins.NAME);

  /** Shortens the standard limits, which are for larger organs. */
  private static final String[] QUICK = {
    "--set", "dev.polis.plugins.healthy.ms=100", "--set", "dev.polis.plugins.stop.ms=2500"
  };

  @TempDir static Path directory;
  private static Victim victim;

  /**
   * A point of a swap.
   *
   * @param name the name in reports @param agent the option that ends the process there @param
   *     committed whether the new generation is current there
   */
  private record Point(String name, String agent, boolean committed) {
    static Point stage(String stage) throws IOException {
      return new Point("after " + stage, CrashAgent.whenReturned(PASSED, stage), false);
    }

    static Point before(String method) throws IOException {
      return new Point("before " + method, CrashAgent.whenEntered(0, method), false);
    }

    static Point afterCommit(String method) throws IOException {
      return new Point("before " + method, CrashAgent.whenEntered(0, method), true);
    }
  }

  private static List<Point> points() throws IOException {
    List<Point> points = new ArrayList<>();
    points.add(Point.stage("committing"));
    points.add(Point.stage("switching"));
    points.add(Point.afterCommit(NOTES + "forgive"));
    if (LONG) {
      points.add(Point.stage("starting"));
      points.add(Point.before(STORE + "put"));
      points.add(Point.before(STORE + "putManifest"));
      points.add(Point.before(NOTES + "furtherOn"));
      points.add(Point.stage("gate beside the predecessor"));
      points.add(Point.stage("gate"));
      points.add(Point.before(STORE + "commit"));
    }
    return points;
  }

  @BeforeAll
  static void start() throws Exception {
    victim = new Victim(TestNode.prepared(directory.resolve("n"), "127.0.35.2"));
    victim.start(directory.resolve("plugins"));
  }

  @AfterAll
  static void stop() throws Exception {
    try {
      if (!LONG) {
        victim.continues();
      }
      System.out.println("across the kills of swaps: " + victim.writers.words());
    } finally {
      victim.close();
    }
  }

  @AfterEach
  void continues() throws Exception {
    if (LONG) {
      victim.continues();
    }
  }

  @Test
  @DisplayName(
      "after a kill at any stage of a swap, the next start undoes or completes the swap, and reports which")
  void killedAtEachStage() throws Exception {
    List<Point> points = points();
    victim.node.killJvm();
    victim.up(points.getFirst().agent());
    for (int number = 0; number < points.size(); number++) {
      Point point = points.get(number);

      String plugin = PLUGINS.get(number % PLUGINS.size());
      String before = victim.running(plugin);
      String next = victim.nextVersion();
      victim.writers.awaitMore("before the swap of " + plugin);
      Finished swap = victim.swap(plugin, next);
      assertNotEquals(0, swap.code(), () -> point.name() + " is never reached: " + swap.all());
      assertEquals(
          CrashAgent.KILLED,
          victim.node.awaitEnd(),
          () -> point.name() + ": " + swap.all() + victim.node.said());
      if (number % 2 == 0) {
        victim.kill(CrashKill.ETCD);
      }
      if (number + 1 < points.size()) {
        victim.up(points.get(number + 1).agent());
      } else {
        victim.up();
      }
      victim.requireWhole("%s of %s".formatted(point.name(), plugin));
      assertEquals(point.committed() ? next : before, victim.running(plugin), point.name());
    }
  }

  @Test
  @DisplayName(
      "after a kill at a random moment the old or the new generation runs, never a mixture")
  void killedAtAnyMoment() throws Exception {
    System.out.printf("kills of swaps with -Dpolis.seed=%d%n", SEED);
    Random random = new Random(SEED);
    List<CrashKill> kinds = List.of(CrashKill.values());
    int first = random.nextInt(kinds.size());
    int applied = 0;
    int cutOff = 0;
    for (int number = 0; number < KILLS; number++) {
      CrashKill kill = kinds.get((first + number) % kinds.size());
      String plugin = PLUGINS.get(random.nextInt(PLUGINS.size()));
      String when = "kill %d (%s) in a swap of %s, -Dpolis.seed=%d";
      when = when.formatted(number, kill, plugin, SEED);
      String before = victim.running(plugin);
      String next = victim.nextVersion();
      long most = victim.longest.get(plugin).toNanos();
      victim.killWhile(plugin, next, kill, Duration.ofNanos(random.nextLong(most)));
      if (kill.endsNode()) {
        victim.up();
      }
      victim.requireWhole(when);
      String after = victim.running(plugin);
      assertTrue(List.of(before, next).contains(after), after + " runs after " + when);
      applied += after.equals(next) ? 1 : 0;
      cutOff += victim.wasCutOff(next) ? 1 : 0;
    }
    System.out.printf(
        "%d kills at random moments: %d swaps undone by the next start, %d had been committed, %d had not begun%n",
        KILLS, cutOff, applied, KILLS - cutOff - applied);
  }

  @Test
  @DisplayName(
      "a plugin that ends the process for lack of memory is undone and named by health, etcd is"
          + " adopted, and the plugin is refused after the second time")
  void fillsTheHeap() throws Exception {
    String before = victim.running(FaultyPlugins.NAME);
    String greedy = victim.nextVersion();
    for (int time = 0; time < 2; time++) {
      Finished swap = victim.greedy(greedy);
      assertNotEquals(0, swap.code(), swap::all);
      assertNotEquals(0, victim.node.awaitEnd(), swap::all);
      victim.up();
      Finished health = victim.node.ctl("health");
      assertTrue(health.all().contains("last-run-crashed"), health::all);
      assertTrue(health.all().contains("the node ran out of memory: its heap"), health::all);
      victim.requireWhole("end " + time);
      assertEquals(before, victim.running(FaultyPlugins.NAME));
    }
    Finished refused = victim.greedy(greedy);
    assertEquals(1, refused.code(), refused::all);
    assertTrue(
        refused.lastLine().contains("the process ended 2 times during this swap"), refused::all);
  }

  /** Holds a node, and the state that it must have after each of its ends. */
  private static final class Victim implements AutoCloseable {
    final TestNode node;

    /** The time of a swap of each plugin on this machine, including the transfer of its file. */
    final Map<String, Duration> longest = new HashMap<>();

    /** Null until the node is HOME for the first time. */
    CrashWriters writers;

    private FaultyPlugins plugins;
    private PackedPlugins organs;
    private String id;
    private long etcd;
    private int versions;

    private Victim(TestNode node) {
      this.node = node;
    }

    void start(Path folder) throws Exception {
      up();
      node.takeOwnership();
      id = node.id();
      etcd = node.etcd().pid();
      plugins = FaultyPlugins.of(node, folder);
      organs = PackedPlugins.signedBy(node, folder, plugins.key());
      writers = CrashWriters.of(node);
      for (String plugin : PLUGINS) {
        long began = System.nanoTime();
        swap(plugin, nextVersion()).requireSuccess("the first version of " + plugin);
        longest.put(plugin, Duration.ofNanos(System.nanoTime() - began));
      }
    }

    void up(String... more) throws Exception {
      node.up(Stream.concat(Stream.of(QUICK), Stream.of(more)).toArray(String[]::new));
    }

    String nextVersion() {
      return "2.0." + ++versions;
    }

    private Path file(String plugin, String version) throws IOException {
      return plugin.equals(FaultyPlugins.NAME)
          ? plugins.version(version, FaultyPlugins.WELL)
          : organs.version(plugin, version);
    }

    Finished swap(String plugin, String version) throws Exception {
      return node.ctl("plugin", "swap", file(plugin, version).toString());
    }

    /** Swaps in a version that requests more memory than available. */
    Finished greedy(String version) throws Exception {
      Path file = plugins.version(version, "asks-for-more-than-there-is");
      return node.ctl("plugin", "swap", file.toString());
    }

    /** Ends processes; if etcd is among them, the next etcd may be another process. */
    void kill(CrashKill kill) throws Exception {
      kill.end(node);
      if (kill.endsEtcd()) {
        etcd = 0;
      }
    }

    /** Kills processes a while after the order of a swap. */
    void killWhile(String plugin, String version, CrashKill kill, Duration delay) throws Exception {
      String file = file(plugin, version).toString();
      CompletableFuture<Finished> swap =
          CompletableFuture.supplyAsync(() -> node.ctl("plugin", "swap", file));
      try {
        swap.get(delay.toNanos(), TimeUnit.NANOSECONDS);
      } catch (TimeoutException underWay) {
        // The kill comes while the swap is under way.
      }
      kill(kill);
      swap.get(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    /** Returns the running version of a plugin, and requires that there is only one. */
    String running(String plugin) throws Exception {
      List<String> found =
          rows(plugin, "bundle", "list").stream()
              .filter(bundle -> bundle.get("state").getAsString().equals("ACTIVE"))
              .map(bundle -> bundle.get("version").getAsString())
              .toList();
      assertEquals(1, found.size(), () -> found + " run of " + plugin);
      return found.getFirst();
    }

    private List<JsonObject> rows(String plugin, String... command) throws Exception {
      return node.json(command).getAsJsonArray().asList().stream()
          .map(JsonElement::getAsJsonObject)
          .filter(row -> row.get("name").getAsString().equals(plugin))
          .toList();
    }

    boolean wasCutOff(String version) throws Exception {
      return node.json("plugin", "history").getAsJsonArray().asList().stream()
          .map(JsonElement::getAsJsonObject)
          .filter(swap -> swap.get("what").getAsString().endsWith(" " + version))
          .anyMatch(swap -> swap.get("outcome").getAsString().equals("reverted"));
    }

    /** Requires one whole generation, and an unchanged cluster. */
    void requireWhole(String when) throws Exception {
      awaitHealth(when);
      Path store = node.state().resolve("plugins");
      for (String plugin : PLUGINS) {
        List<JsonObject> listed = rows(plugin, "plugin", "list");
        assertEquals(1, listed.size(), when);
        assertEquals(running(plugin), listed.getFirst().get("version").getAsString(), when);
        String digest = listed.getFirst().get("digest").getAsString();
        assertTrue(Files.exists(store.resolve("files/" + digest + ".jar")), when);
      }
      assertTrue(!Files.exists(store.resolve("swap")), "the journal is open " + when);
      try (Stream<Path> all = Files.walk(store)) {
        assertEquals(
            List.of(),
            all.filter(each -> each.getFileName().toString().startsWith("writing-")).toList(),
            when);
      }
      // Health may have been read before the node noticed that its etcd was killed.
      Await.until(TestNode.PATIENCE, "etcd to run " + when, () -> !node.children("etcd").isEmpty());
      long runs = node.etcd().pid();
      assertTrue(etcd == 0 || etcd == runs, () -> "etcd is another process " + when);
      etcd = runs;
      assertEquals(id, node.id(), when);
      writers.check(when);
    }

    private void awaitHealth(String when) {
      Finished health = node.ctl("health", "--wait", "" + TestNode.PATIENCE.toSeconds());
      assertEquals(0, health.code(), () -> when + ": " + health.all());
    }

    /** Expects the next swap of each plugin to be applied. */
    void continues() throws Exception {
      for (String plugin : PLUGINS) {
        String next = nextVersion();
        swap(plugin, next).requireSuccess("a swap of " + plugin + " after the ends");
        assertEquals(next, running(plugin));
      }
      awaitHealth("after the last swaps");
    }

    @Override
    public void close() {
      if (writers != null) {
        writers.close();
      }
      node.close();
    }
  }
}
