package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Uses the commands of plugins on one node: for plugins that the cluster wants and the node fetches
 * by itself, and for plugins that are swapped by hand.
 */
class PluginSetIT {

  @TempDir static Path directory;
  private static TestNode node;
  private static PackedPlugins plugins;
  private static String id;

  @BeforeAll
  static void start() throws Exception {
    node = TestNode.member(directory.resolve("n"), "127.0.43.1");
    // Shortens the gate's times, so that the test need not wait for a broken plugin.
    node.up(
        "--set",
        "dev.polis.plugins.healthy.ms=500",
        "--set",
        "dev.polis.plugins.deadline.ms=15000");
    id = node.id();
    plugins = PackedPlugins.of(node, directory.resolve("plugins"));
  }

  @AfterAll
  static void stop() {
    node.close();
  }

  @Test
  @DisplayName(
      "each node runs a pushed plugin by itself, a pin overrides it, also with an older"
          + " version, and without both the node returns to its distribution; the difference"
          + " shows it each time")
  void pushPinUnpin() throws Exception {
    String name = "dev.polis.metrics";
    Finished pushed = done("push", plugins.version(name, "0.3.0").toString());
    assertTrue(pushed.all().contains("1 of 1 nodes run it"), pushed.all());
    difference(name, "0.3.0", "0.3.0", "everywhere");
    assertEquals(List.of("0.3.0"), versions(name));

    Finished again = done("push", plugins.version(name, "0.3.0").toString());
    assertTrue(again.all().contains("wanted on each node already"), again.all());

    Finished older = node.ctl("plugin", "push", plugins.version(name, "0.2.0").toString());
    assertEquals(1, older.code(), older.all());
    assertTrue(older.all().contains("0.2.0 is older than 0.3.0"), older.all());

    done("pin", name + "@0.1.0", "--node", id);
    difference(name, "0.1.0", "0.1.0", "node " + id);
    assertEquals(List.of("0.1.0"), versions(name));

    Finished byHand = node.ctl("plugin", "swap", plugins.version(name, "0.4.0").toString());
    assertEquals(1, byHand.code(), byHand.all());
    assertEquals(List.of("0.1.0"), versions(name), byHand.all());

    done("unpin", name, "--node", id);
    awaitVersion(name, "0.3.0");
    done("unpin", name);
    awaitVersion(name, "0.1.0");
    Finished unknown = node.ctl("plugin", "unpin", "dev.polis.metrisc", "--everywhere");
    assertEquals(4, unknown.code(), unknown.all());
  }

  @Test
  @Tag("full")
  @DisplayName(
      "the node reverts a broken plugin, reports why it does not run it, and stays"
          + " HOME; a mended one runs")
  void brokenPlugin() throws Exception {
    String name = "dev.polis.kubernetes";

    Finished pushed = node.ctl("plugin", "push", broken(name, "0.3.0").toString());

    assertEquals(5, pushed.code(), pushed.all());
    JsonObject row = difference(name).orElseThrow();
    assertEquals("0.1.0", row.get("runs").getAsString(), row.toString());
    assertEquals("0.3.0", row.get("wants").getAsString(), row.toString());
    assertTrue(row.get("failed").getAsBoolean(), row.toString());
    assertTrue(
        row.get("whyNot").getAsString().contains("KubernetesControllerComponent"), row.toString());
    assertEquals(5, node.ctl("plugin", "diff").code());
    assertEquals(List.of("0.1.0"), versions(name));

    done("push", plugins.version(name, "0.4.0").toString());
    assertEquals(List.of("0.4.0"), versions(name));
    done("unpin", name);
    awaitVersion(name, "0.1.0");
    Finished health = node.ctl("health", "--wait", "" + TestNode.PATIENCE.toSeconds());
    assertEquals(0, health.code(), health::all);
  }

  @Test
  @Tag("full")
  @DisplayName(
      "an outside plugin is removed when it is no longer wanted, or by hand;"
          + " not while the node has its role")
  void outsider() throws Exception {
    String name = "org.example.nothing";
    Path plugin = plugins.outsider(name, "1.0.0", "Nothing");
    Finished typo = node.ctl("plugin", "push", plugin.toString(), "--role", "Nothnig");
    assertEquals(4, typo.code(), typo.all());
    assertTrue(typo.all().contains("did you mean \"Nothing\"?"), typo.all());

    done("push", plugin.toString(), "--node", id);
    assertEquals(List.of("1.0.0"), versions(name));
    done("unpin", name);
    awaitGone(name);

    done("swap", plugin.toString());
    node.ctl("node", "role", "add", id, "Nothing").requireSuccess("the role");
    Await.until(
        TestNode.PATIENCE,
        "the refusal to remove a plugin whose role the node has",
        () ->
            node.ctl("plugin", "remove", "--dry-run", name)
                .all()
                .contains("provides the role Nothing, which this node has"));
    node.ctl("node", "role", "remove", id, "Nothing").requireSuccess("the role");
    Await.until(
        TestNode.PATIENCE,
        "the plugin to be removed",
        () -> node.ctl("plugin", "remove", name).code() == 0);
    assertEquals(List.of(), versions(name));

    Finished organ = node.ctl("plugin", "remove", "dev.polis.debug");
    assertEquals(1, organ.code(), organ.all());
    assertTrue(organ.all().contains("came with the node's distribution"), organ.all());
  }

  @Test
  @DisplayName("a swap is rolled back, and the history names the user of both")
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
  @DisplayName(
      "a plugin that no trusted key signed is refused with the reason, and nothing changes")
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
  @DisplayName(
      "the shell is off until it is switched on, and then gives access to the running node")
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
  @Tag("full")
  @DisplayName(
      "the graph shows the plugins that keep running when one is replaced, as a table and as a drawing")
  void graph() throws Exception {
    String table = node.ctl("plugin", "graph", "storage").requireSuccess("graph").out();
    assertTrue(
        table
            .lines()
            .anyMatch(
                line ->
                    line.matches(
                        "dev.polis.storage \\S+ +Storage +dev.polis.consensus \\S+ +continues .*")),
        table);
    String drawing = node.ctl("plugin", "graph", "-o", "dot").requireSuccess("drawing").out();
    assertTrue(drawing.startsWith("digraph plugins {"), drawing);
    assertTrue(
        drawing.lines().anyMatch(line -> line.matches(".*consensus.* -> .*storage.*Storage.*")),
        drawing);
  }

  /** Returns a version that cannot be activated. */
  private static Path broken(String name, String version) throws Exception {
    return plugins.without(
        name, version, name.replace('.', '/') + "/KubernetesControllerComponent.class");
  }

  private static Finished done(String... arguments) {
    String[] all = new String[arguments.length + 1];
    all[0] = "plugin";
    System.arraycopy(arguments, 0, all, 1, arguments.length);
    Finished finished = node.ctl(all);
    assertEquals(
        0,
        finished.code(),
        () -> "%s: %s".formatted(List.of(all), finished.all() + "\n" + node.said()));
    return finished;
  }

  private static void difference(String name, String runs, String wants, String decidedBy) {
    JsonObject row = difference(name).orElseThrow();
    assertEquals(runs, row.get("runs").getAsString(), row.toString());
    assertEquals(wants, row.get("wants").getAsString(), row.toString());
    assertEquals(decidedBy, row.get("decidedBy").getAsString(), row.toString());
    assertEquals("0.1.0", row.get("distribution").getAsString(), row.toString());
    assertTrue(row.get("asWanted").getAsBoolean(), row.toString());
  }

  private static Optional<JsonObject> difference(String name) {
    String json = node.ctl("plugin", "diff", "--all", "-o", "json").out();
    return JsonParser.parseString(json).getAsJsonArray().asList().stream()
        .map(JsonElement::getAsJsonObject)
        .filter(row -> row.get("name").getAsString().equals(name))
        .findFirst();
  }

  private static List<String> versions(String name) throws Exception {
    return node.json("bundle", "list").getAsJsonArray().asList().stream()
        .map(JsonElement::getAsJsonObject)
        .filter(bundle -> bundle.get("name").getAsString().equals(name))
        .map(bundle -> bundle.get("version").getAsString())
        .toList();
  }

  private static void awaitVersion(String name, String version) throws Exception {
    Await.until(
        TestNode.PATIENCE,
        name + " to run in version " + version,
        () -> versions(name).equals(List.of(version)));
  }

  private static void awaitGone(String name) throws Exception {
    Await.until(TestNode.PATIENCE, name + " to be removed", () -> versions(name).isEmpty());
  }
}
