package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.fixtures.CrashAgent;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.Tier;
import dev.polis.wire.common.NodeLabels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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
 * Ends the process of a node in the midst of swaps, and expects of the next start the old
 * generation or the new one, and all that the cluster has acknowledged.
 */
@Tag("longer")
class SwapCrashIT {
  private static final boolean LONG = Tier.isLong();

  private static final int KILLS = Integer.getInteger("polis.kills", LONG ? 200 : 3);

  private static final String PASSED = "dev.polis.plugins.swap.SwapRun.passed";
  private static final String STORE = "dev.polis.plugins.store.PluginStore.";
  private static final String NOTES = "dev.polis.plugins.store.SwapNotes.";

  /** The limits of a person's node are for organs that are larger. */
  private static final String[] QUICK = {
    "--set", "dev.polis.plugins.healthy.ms=100", "--set", "dev.polis.plugins.stop.ms=2500"
  };

  @TempDir static Path directory;
  private static Victim victim;

  /**
   * A point of a swap.
   *
   * @param name for people
   * @param agent the option that ends the process there
   * @param committed whether the new generation counts there
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
    points.add(Point.stage("switching"));
    points.add(Point.stage("committing"));
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
  static void stop() {
    victim.close();
  }

  @AfterEach
  void goesOn() throws Exception {
    victim.goesOn();
  }

  @Test
  @DisplayName(
      "killed at each stage of a swap: the next start undoes it or has it whole, and says which")
  void killedAtEachStage() throws Exception {
    List<Point> points = points();
    victim.node.killJvm();
    victim.up(points.getFirst().agent());
    for (int number = 0; number < points.size(); number++) {
      Point point = points.get(number);
      String before = victim.running();
      String next = victim.nextVersion();
      Finished swap = victim.swap(next, FaultyPlugins.WELL);
      assertNotEquals(0, swap.code(), () -> point.name() + " is never reached: " + swap.all());
      assertEquals(
          CrashAgent.KILLED,
          victim.node.awaitEnd(),
          () -> point.name() + ": " + swap.all() + victim.node.said());
      if (number + 1 < points.size()) {
        victim.up(points.get(number + 1).agent());
      } else {
        victim.up();
      }
      victim.requireWhole(point.name());
      assertEquals(point.committed() ? next : before, victim.running(), point.name());
    }
  }

  @Test
  @DisplayName("killed at moments of chance: the old or the new generation, never a mixture")
  void killedAtAnyMoment() throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    int applied = 0;
    int cutOff = 0;
    for (int kill = 0; kill < KILLS; kill++) {
      String before = victim.running();
      String next = victim.nextVersion();
      victim.killWhile(next, Duration.ofNanos(random.nextLong(victim.swap.toNanos())));
      victim.up();
      victim.requireWhole("kill %d with the seed %d".formatted(kill, seed));
      String after = victim.running();
      assertTrue(List.of(before, next).contains(after), () -> after + " runs");
      applied += after.equals(next) ? 1 : 0;
      cutOff += victim.wasCutOff(next) ? 1 : 0;
    }
    System.out.printf(
        "%d kills at random moments: %d swaps undone by the next start, %d had been committed, %d had not begun%n",
        KILLS, cutOff, applied, KILLS - cutOff - applied);
  }

  @Test
  @DisplayName(
      "a plugin that ends the process for lack of memory is undone, and refused after the second"
          + " time")
  void fillsTheHeap() throws Exception {
    String before = victim.running();
    String greedy = victim.nextVersion();
    for (int time = 0; time < 2; time++) {
      Finished swap = victim.swap(greedy, "asks-for-more-than-there-is");
      assertNotEquals(0, swap.code(), swap::all);
      assertNotEquals(0, victim.node.awaitEnd(), swap::all);
      victim.deleteCrashReport();
      victim.up();
      victim.requireWhole("end " + time);
      assertEquals(before, victim.running());
    }
    Finished refused = victim.swap(greedy, "asks-for-more-than-there-is");
    assertEquals(1, refused.code(), refused::all);
    assertTrue(
        refused.lastLine().contains("the process ended 2 times during this swap"), refused::all);
  }

  /** A node, and what has to be there after each of its ends. */
  private static final class Victim implements AutoCloseable {
    static final String FIRST = "1.0.0";
    private static final String LABEL = "swap-crash";

    final TestNode node;
    private FaultyPlugins plugins;
    private String id;
    private long etcd;
    private int versions;

    /** How long a swap takes on this machine, with what sends its file. */
    private Duration swap = Duration.ZERO;

    private int acknowledged;

    private Victim(TestNode node) {
      this.node = node;
    }

    void start(Path folder) throws Exception {
      up();
      node.takeOwnership();
      id = node.id();
      etcd = node.etcd().pid();
      plugins = FaultyPlugins.of(node, folder);
      long began = System.nanoTime();
      swap(FIRST, FaultyPlugins.WELL).requireSuccess("the first version");
      swap = Duration.ofNanos(System.nanoTime() - began);
      write();
    }

    void up(String... more) throws Exception {
      node.up(Stream.concat(Stream.of(QUICK), Stream.of(more)).toArray(String[]::new));
    }

    String nextVersion() {
      return "2.0." + ++versions;
    }

    Finished swap(String version, String behaviour) throws Exception {
      return node.ctl("plugin", "swap", plugins.version(version, behaviour).toString());
    }

    /** Kills the process a while after the order of a swap. */
    void killWhile(String version, Duration delay) throws Exception {
      String file = plugins.version(version, FaultyPlugins.WELL).toString();
      CompletableFuture<Finished> swap =
          CompletableFuture.supplyAsync(() -> node.ctl("plugin", "swap", file));
      try {
        swap.get(delay.toNanos(), TimeUnit.NANOSECONDS);
      } catch (TimeoutException underWay) {
        // The kill comes while the swap is under way.
      }
      node.killJvm();
      swap.get(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    /** Returns the version that runs, of which there is one. */
    String running() throws Exception {
      List<String> found =
          rows("bundle", "list").stream()
              .filter(bundle -> bundle.get("state").getAsString().equals("ACTIVE"))
              .map(bundle -> bundle.get("version").getAsString())
              .toList();
      assertEquals(1, found.size(), () -> found + " run");
      return found.getFirst();
    }

    private List<JsonObject> rows(String... command) throws Exception {
      return node.json(command).getAsJsonArray().asList().stream()
          .map(JsonElement::getAsJsonObject)
          .filter(row -> row.get("name").getAsString().equals(FaultyPlugins.NAME))
          .toList();
    }

    boolean wasCutOff(String version) throws Exception {
      return node.json("plugin", "history").getAsJsonArray().asList().stream()
          .map(JsonElement::getAsJsonObject)
          .filter(swap -> swap.get("what").getAsString().endsWith(" " + version))
          .anyMatch(swap -> swap.get("outcome").getAsString().equals("reverted"));
    }

    /** Expects one generation, whole, and the cluster as it was. */
    void requireWhole(String when) throws Exception {
      List<JsonObject> listed = rows("plugin", "list");
      assertEquals(1, listed.size(), when);
      assertEquals(running(), listed.getFirst().get("version").getAsString(), when);
      Path store = node.state().resolve("plugins");
      Path file = store.resolve("files/" + listed.getFirst().get("digest").getAsString() + ".jar");
      assertTrue(Files.exists(file), when);
      assertTrue(!Files.exists(store.resolve("swap")), "the journal is open " + when);
      try (Stream<Path> all = Files.walk(store)) {
        assertEquals(
            List.of(),
            all.filter(each -> each.getFileName().toString().startsWith("writing-")).toList(),
            when);
      }
      assertEquals(etcd, node.etcd().pid(), "etcd is another process " + when);
      assertEquals(id, node.id(), when);
      try (OwnerApi owner = OwnerApi.of(node)) {
        List<String> values =
            owner.node(id).getLabels().getPairsList().stream()
                .filter(pair -> pair.getKey().equals(LABEL))
                .map(NodeLabels.Pair::getValue)
                .toList();
        assertEquals(List.of("" + acknowledged), values, "an acknowledged write is gone " + when);
      }
      write();
    }

    private void write() throws Exception {
      try (OwnerApi owner = OwnerApi.of(node)) {
        owner.label(id, LABEL, "" + (acknowledged + 1));
        acknowledged++;
      }
    }

    /** Removes what a JVM without memory writes where it was started. */
    void deleteCrashReport() throws IOException {
      Files.deleteIfExists(Path.of("hs_err_pid" + node.jvmPid() + ".log"));
    }

    /** Expects the next swap to be applied. */
    void goesOn() throws Exception {
      String next = nextVersion();
      swap(next, FaultyPlugins.WELL).requireSuccess("a swap after the ends");
      assertEquals(next, running());
      Finished health = node.ctl("health", "--wait", "" + TestNode.PATIENCE.toSeconds());
      assertEquals(0, health.code(), health::all);
    }

    @Override
    public void close() {
      node.close();
    }
  }
}
