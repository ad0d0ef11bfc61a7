package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.fixtures.Finished;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Replaces the organs of one running node by other versions of them, under calls and streams. */
class OrganReplaceIT {

  /** Replacements of each organ, one after the other. */
  private static final int SWAPS = Integer.getInteger("polis.swaps", 2);

  @TempDir static Path directory;
  private static TestNode node;
  private static OwnerApi owner;
  private static PackedPlugins plugins;
  private static String id;

  @BeforeAll
  static void start() throws Exception {
    node = TestNode.prepared(directory.resolve("n"), "127.0.34.1");
    // The gate's three seconds are for a person's node; here calls show how the organ is.
    node.up("--set", "dev.polis.plugins.healthy.ms=500");
    node.takeOwnership();
    owner = OwnerApi.of(node);
    id = node.id();
    plugins = PackedPlugins.of(node, directory.resolve("plugins"));
  }

  @AfterAll
  static void stop() {
    if (owner != null) {
      owner.close();
    }
    node.close();
  }

  @ParameterizedTest(name = "{0}")
  @ValueSource(
      strings = {
        "management",
        "debug",
        "metrics",
        "containers",
        "kubernetes",
        "convergence",
        "curator",
        "roles",
        "cluster",
        "network",
        "storage",
        "consensus"
      })
  @DisplayName(
      "an organ is replaced by its next versions under writers, a reader, watchers and log"
          + " followers: no call fails, nothing acknowledged is lost, etcd is the same process")
  void replaced(String organ) throws Exception {
    String name = "dev.polis." + organ;
    long etcd = node.etcd().pid();
    List<String> mounts = node.mounts();
    int errors = errors().size();
    try (Load load = new Load()) {
      load.awaitMore("before the swap of " + organ);
      List<Duration> pauses = new ArrayList<>();
      for (int swap = 1; swap <= SWAPS; swap++) {
        String version = "0.2." + swap;
        load.longestPause();
        Finished applied = node.ctl("plugin", "swap", plugins.version(name, version).toString());
        assertEquals(0, applied.code(), () -> applied.all() + "\nnode: " + node.said());
        assertEquals(List.of(version), versions(name));
        load.awaitMore("after " + organ + " " + version);
        pauses.add(load.longestPause());
      }
      load.check("while " + organ + " was replaced");
      report(organ, pauses);
    }
    assertEquals(etcd, node.etcd().pid(), "etcd was restarted by a swap of " + organ);
    assertEquals(mounts, node.mounts());
    assertEquals(List.of(), errors().subList(errors, errors().size()));
    Finished health = node.ctl("health", "--wait", "" + TestNode.PATIENCE.toSeconds());
    assertEquals(0, health.code(), health::all);
  }

  /** Prints the longest time without an answer to a reader or a writer, over the swaps. */
  private static void report(String organ, List<Duration> pauses) {
    List<Long> sorted = pauses.stream().map(Duration::toMillis).sorted().toList();
    System.out.printf(
        "%s: %d swaps, longest time without an answer p50 %d ms, p99 %d ms%n",
        organ,
        sorted.size(),
        sorted.get(sorted.size() / 2),
        sorted.get((int) Math.ceil(sorted.size() * 0.99) - 1));
  }

  /** Writes, reads, watches and follows the log. */
  private static final class Load implements AutoCloseable {
    private final SteadyCaller reader = SteadyCaller.of(owner::clusterInfo);
    private final List<SteadyWriter> writers =
        IntStream.range(0, 8).mapToObj(n -> SteadyWriter.numbered(owner, id, n)).toList();
    private final List<SteadyStream> watchers =
        IntStream.range(0, 4)
            .mapToObj(n -> SteadyStream.of("the nodes, " + n, owner::watchNodes))
            .toList();
    private final List<SteadyStream> followers =
        IntStream.range(0, 2)
            .mapToObj(n -> SteadyStream.of("the log, " + n, owner::followLog))
            .toList();

    void awaitMore(String when) throws Exception {
      reader.awaitMore(when);
      for (SteadyWriter writer : writers) {
        writer.awaitMore(when);
      }
      for (SteadyStream watcher : watchers) {
        watcher.awaitMoreThan(watcher.received(), when);
      }
      for (SteadyStream follower : followers) {
        follower.awaitMoreThan(0, when);
      }
    }

    Duration longestPause() {
      return Stream.concat(
              Stream.of(reader.longestPause()), writers.stream().map(SteadyWriter::longestPause))
          .max(Comparator.naturalOrder())
          .orElseThrow();
    }

    void check(String when) throws Exception {
      reader.check(when);
      for (SteadyWriter writer : writers) {
        writer.check(when);
        assertEquals(List.of(), writer.lost(), "acknowledged writes that are gone");
      }
    }

    @Override
    public void close() {
      reader.close();
      writers.forEach(SteadyWriter::close);
      watchers.forEach(SteadyStream::close);
      followers.forEach(SteadyStream::close);
    }
  }

  @Test
  @DisplayName("what is swapped is rolled back, and the history says who did both")
  void rolledBack() throws Exception {
    String name = "dev.polis.debug";
    List<String> before = versions(name);
    Path next = plugins.version(name, "0.3.0");
    node.ctl("plugin", "swap", next.toString()).requireSuccess("swap");
    assertEquals(List.of("0.3.0"), versions(name));
    node.ctl("plugin", "rollback").requireSuccess("rollback");
    assertEquals(before, versions(name));
    String history = node.ctl("plugin", "history").requireSuccess("history").out();
    assertTrue(history.contains("applied"), history);
    assertTrue(history.contains("owner") || history.contains("user"), history);
  }

  @Test
  @DisplayName("a plugin that no trusted key signed is refused in words, and nothing changes")
  void unsigned() throws Exception {
    String name = "dev.polis.debug";
    List<String> before = versions(name);
    Path stranger = directory.resolve("stranger-key.pem");
    node.ctl("plugin", "key", "make", stranger.toString()).requireSuccess("key");
    Path next = plugins.version(name, "0.4.0");
    node.ctl("plugin", "pack", next.toString(), "--key", stranger.toString())
        .requireSuccess("pack");
    Finished refused = node.ctl("plugin", "swap", next.toString());
    assertEquals(1, refused.code(), refused::all);
    assertTrue(refused.all().contains("does not trust"), refused.all());
    assertEquals(before, versions(name));
    String why = node.ctl("explain", name).requireSuccess("explain").out();
    assertTrue(why.contains("because swap of " + name + " 0.4.0"), why);
    assertTrue(why.contains("does not trust"), why);
  }

  @Test
  @DisplayName("a shell is off until it is switched on, and then reaches into the running node")
  void shell() throws Exception {
    Finished off = node.ctl("shell", "lb");
    assertEquals(3, off.code(), off::all);
    assertTrue(off.all().contains("config set dev.polis.debug.shell=true"), off.all());
    node.ctl("config", "set", "dev.polis.debug.shell=true").requireSuccess("switch the shell on");
    String bundles = node.ctl("shell", "lb").requireSuccess("lb").out();
    assertTrue(bundles.contains("Active"), bundles);
    Finished wrong = node.ctl("shell", "nonsense");
    assertEquals(1, wrong.code(), wrong::all);
    assertTrue(node.ctl("explain", "debug").out().contains("a shell for developers is on"));
    node.ctl("config", "unset", "dev.polis.debug.shell").requireSuccess("switch the shell off");
    assertEquals(3, node.ctl("shell", "lb").code());
  }

  @Test
  @DisplayName("the graph shows who goes on when a plugin is replaced, as a table and as a drawing")
  void graph() throws Exception {
    String table = node.ctl("plugin", "graph", "storage").requireSuccess("graph").out();
    assertTrue(
        table
            .lines()
            .anyMatch(
                line ->
                    line.matches(
                        "dev.polis.storage \\S+ +Storage +dev.polis.consensus \\S+ +goes on .*")),
        table);
    String drawing = node.ctl("plugin", "graph", "-o", "dot").requireSuccess("drawing").out();
    assertTrue(drawing.startsWith("digraph plugins {"), drawing);
    assertTrue(
        drawing.lines().anyMatch(line -> line.matches(".*consensus.* -> .*storage.*Storage.*")),
        drawing);
  }

  private static List<String> versions(String name) throws Exception {
    List<String> versions = new ArrayList<>();
    for (JsonElement each : node.json("plugin", "list").getAsJsonArray()) {
      JsonObject bundle = each.getAsJsonObject();
      if (bundle.get("name").getAsString().equals(name)) {
        versions.add(bundle.get("version").getAsString());
      }
    }
    return versions;
  }

  /** Returns the errors and stack traces that the node has printed. */
  private static List<String> errors() {
    return node.said()
        .lines()
        .filter(line -> line.contains("Exception") || line.matches("\\S+ +E\\d{4} .*"))
        .toList();
  }
}
