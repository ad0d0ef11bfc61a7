package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.plugins.store.Digest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Rolls plugins out to three members, which get the files from each other. Each test has plugins of
 * its own, and leaves all members up.
 */
@Tag("full")
class PluginRolloutIT {

  private static final List<String> ADDRESSES = List.of("127.0.94.1", "127.0.94.2", "127.0.94.3");

  /** Is the id of a node that no cluster has. */
  private static final String STRANGER = "metropolis-" + "0".repeat(32);

  private static final Pattern GIVEN = Pattern.compile("the last part came from node (\\S+)");

  @TempDir static Path directory;
  private static ThreeVoters voters;
  private static GrowingCluster cluster;
  private static PackedPlugins plugins;

  /** The nodes, in the order in which the cluster lists them. */
  private static String first;

  private static String second;
  private static String third;

  @BeforeAll
  static void grow() throws Exception {
    voters = new ThreeVoters(directory, ADDRESSES, Mode.INSECURE);
    // Shortens the gate's time, and the time until a node asks again for a file.
    voters.placed(
        node ->
            node.always(
                "--set",
                "dev.polis.plugins.healthy.ms=500",
                "--set",
                "dev.polis.convergence.retry.ms=500"));
    voters.found();
    voters.join();
    voters.vote();
    cluster = voters.cluster();
    plugins = PackedPlugins.of(cluster.first(), directory.resolve("plugins"));
    List<String> ids =
        cluster.rows("node", "list").stream().map(row -> GrowingCluster.text(row, "id")).toList();
    assertEquals(voters.byId().keySet(), Set.copyOf(ids));
    first = ids.get(0);
    second = ids.get(1);
    third = ids.get(2);
  }

  @AfterAll
  static void sweep() {
    if (voters != null) {
      voters.close();
    }
  }

  @Test
  @DisplayName(
      "a plugin pushed through one node runs on all; the others fetch its file from a node that has it, and their copy has its digest")
  void everywhere() throws Exception {
    String name = "dev.polis.metrics";
    Path file = plugins.version(name, "0.3.0");

    Finished pushed = done(second, "push", file.toString());

    assertTrue(pushed.out().contains("3 of 3 nodes run it"), pushed.all());
    String digest = Digest.of(file).hex();
    for (String id : voters.byId().keySet()) {
      awaitRuns(id, name, "0.3.0");
      JsonObject row = row(id, name).orElseThrow();
      assertEquals("everywhere", GrowingCluster.text(row, "decidedBy"), row.toString());
      assertEquals(digest, GrowingCluster.text(row, "runsDigest"), row.toString());
      assertEquals(digest, Digest.of(stored(id, digest)).hex());
    }
    assertEquals(List.of(), givers(second, name, "0.3.0"));
    assertFetched(first, name, "0.3.0", giver -> !giver.equals(first));
    assertFetched(third, name, "0.3.0", giver -> !giver.equals(third));
  }

  @Test
  @DisplayName(
      "a plugin for a role runs on the nodes that have the role, on another one as soon as that gets the role, and no longer where the role is gone")
  void role() throws Exception {
    String name = "org.example.watch";
    String role = "NightWatch";
    Path file = plugins.outsider(name, "1.0.0", role);

    Finished pushed = done(first, "push", file.toString(), "--role", role);
    assertTrue(pushed.out().contains("node role add NODE " + role), pushed.all());
    assertRuns(name, "", first, second, third);

    cluster.change("node", "role", "add", second, role);
    awaitRuns(second, name, "1.0.0");
    assertFetched(second, name, "1.0.0", first::equals);
    assertRuns(name, "", first, third);

    cluster.change("node", "role", "add", third, role);
    awaitRuns(third, name, "1.0.0");
    cluster.change("node", "role", "remove", second, role);
    awaitRuns(second, name, "");
    assertRuns(name, "", first);
    assertRuns(name, "1.0.0", third);

    cluster.change("node", "role", "remove", third, role);
    done(first, "unpin", name);
    awaitRuns(third, name, "");
  }

  @Test
  @DisplayName(
      "a pinned node keeps its version while the others take the next; without the pin it takes that too, and all return to their distribution when nothing is wanted")
  void pin() throws Exception {
    String name = "dev.polis.debug";
    done(second, "push", plugins.version(name, "0.3.0").toString());
    done(first, "pin", name, "--node", third);

    Finished next = done(second, "push", plugins.version(name, "0.4.0").toString());

    assertTrue(next.out().contains("2 of 2 nodes run it"), next.all());
    assertRuns(name, "0.4.0", first, second);
    assertRuns(name, "0.3.0", third);
    JsonObject pinned = row(third, name).orElseThrow();
    assertEquals("node " + third, GrowingCluster.text(pinned, "decidedBy"), pinned.toString());
    assertTrue(pinned.get("asWanted").getAsBoolean(), pinned.toString());

    done(first, "unpin", name, "--node", third);
    awaitRuns(third, name, "0.4.0");
    assertFetched(third, name, "0.4.0", giver -> !giver.equals(third));

    done(first, "unpin", name);
    for (String id : voters.byId().keySet()) {
      awaitRuns(id, name, "0.1.0");
    }
  }

  @Test
  @DisplayName(
      "a leader killed while the cluster gets another version runs that version when it is back, without a command")
  void killedLeader() throws Exception {
    String name = "dev.polis.kubernetes";
    cluster.awaitLeader();
    String killed = idAt(cluster.endpoint());
    TestNode.losePower(List.of(node(killed)));
    Path file = plugins.version(name, "0.3.0");

    cluster.change("plugin", "push", file.toString(), "--wait", "0");

    for (String other : others(killed)) {
      awaitRuns(other, name, "0.3.0");
    }
    JsonObject away = row(killed, name).orElseThrow();
    assertEquals("0.1.0", GrowingCluster.text(away, "runs"), away.toString());
    assertFalse(away.get("asWanted").getAsBoolean(), away.toString());

    node(killed).up();

    awaitRuns(killed, name, "0.3.0");
    assertFetched(killed, name, "0.3.0", giver -> !giver.equals(killed));
    cluster.awaitHealthy(killed);
  }

  @Test
  @DisplayName("while one node with a file or a manifest is away, another one is asked for it")
  void holderAway() throws Exception {
    String name = "org.example.held";
    Path file = plugins.outsider(name, "1.0.0", "Held");
    done(first, "push", file.toString(), "--node", first);
    done(second, "push", file.toString(), "--node", second);
    node(first).stop();

    cluster.change("plugin", "pin", name + "@1.0.0", "--node", third, "--wait", "0");
    awaitRuns(third, name, "1.0.0");
    assertFetched(third, name, "1.0.0", second::equals);
    assertEquals(0, cluster.ctl("plugin", "unpin", name, "--node", third).code());
    awaitRuns(third, name, "");

    // The cluster does not want it yet, so its manifest is only on the nodes.
    String own = "dev.polis.convergence";
    Finished pinned = cluster.ctl("plugin", "pin", own + "@0.1.0", "--node", third);
    assertEquals(0, pinned.code(), pinned::all);

    node(first).up();
    cluster.awaitHealthy(first);
    awaitRuns(first, name, "1.0.0");
    done(second, "unpin", own);
  }

  @Test
  @DisplayName(
      "a changed file is not installed: each other node names the node that sent it, keeps its version, and gets the file from the next node that has it")
  void changedFile() throws Exception {
    String name = "dev.polis.containers";
    Path file = plugins.version(name, "0.3.0");
    done(first, "push", file.toString(), "--node", first);
    Path changed = stored(first, Digest.of(file).hex());
    byte[] right = Files.readAllBytes(changed);
    try {
      Files.write(changed, withOneChanged(right));

      Finished pinned =
          through(first, "plugin", "pin", name + "@0.3.0", "--everywhere", "--wait", "1");
      assertEquals(5, pinned.code(), pinned.all());
      for (String other : others(first)) {
        await(
            other,
            name,
            "to refuse the file of " + first,
            row ->
                GrowingCluster.text(row, "whyNot").contains(first + ": its file has another digest")
                    && GrowingCluster.text(row, "runs").equals("0.1.0"));
        assertRuns(name, "0.1.0", other);
      }

      done(second, "push", file.toString());
      awaitRuns(second, name, "0.3.0");
      awaitRuns(third, name, "0.3.0");
      assertFetched(third, name, "0.3.0", second::equals);
    } finally {
      Files.write(changed, right);
    }
  }

  @Test
  @DisplayName(
      "an unknown role, an unknown node and a changed file or manifest are refused with the reason, and no node changes")
  void refused() throws Exception {
    String name = "org.example.refused";
    String own = "dev.polis.convergence";
    String file = plugins.outsider(name, "1.0.0", "Refused").toString();
    List<String> before = everything();

    String role = "did you mean \"Refused\"?";
    refuses(4, role, "push", file, "--role", "Refsued");
    refuses(
        4, "did you mean \"ConsensusMember\"?", "pin", own + "@0.1.0", "--role", "ConsensusMembre");
    for (String pinned : List.of(own, own + "@0.1.0")) {
      refuses(4, "there is no node \"" + STRANGER, "pin", pinned, "--node", STRANGER);
    }
    refuses(4, "there is no node \"" + STRANGER, "push", file, "--node", STRANGER);
    refuses(4, "there is no node \"third\"", "push", file, "--node", "third");

    Path changed = plugins.outsider("org.example.changed", "1.0.0", "Changed");
    Path manifest = changed.resolveSibling(changed.getFileName() + ".plugin");
    byte[] signed = Files.readAllBytes(manifest);
    Files.write(manifest, withOneChanged(signed));
    refuses(1, "", "push", changed.toString());
    Files.write(manifest, signed);
    Files.write(changed, withOneChanged(Files.readAllBytes(changed)));
    refuses(1, "fetch it again or pack it again", "push", changed.toString());

    assertEquals(before, everything());
  }

  private static byte[] withOneChanged(byte[] right) {
    byte[] wrong = right.clone();
    wrong[wrong.length / 2] ^= 1;
    return wrong;
  }

  private static void refuses(int code, String reason, String... arguments) {
    Finished refused = through(second, plugin(arguments));
    assertEquals(code, refused.code(), refused::all);
    assertTrue(refused.err().contains(reason), refused::all);
    assertFalse(refused.err().isBlank(), "a refusal without a reason: " + List.of(arguments));
  }

  /** Returns what the cluster wants of each node, and what each node runs. */
  private static List<String> everything() {
    List<String> all = new ArrayList<>();
    all.add(through(second, "plugin", "diff", "--all", "-o", "json").out());
    for (String id : voters.byId().keySet()) {
      all.add(through(id, "plugin", "list", "-o", "json").out());
    }
    return all;
  }

  private static TestNode node(String id) {
    return voters.byId().get(id);
  }

  private static List<String> others(String id) {
    return voters.byId().keySet().stream().filter(other -> !other.equals(id)).toList();
  }

  private static String idAt(String address) {
    return voters.byId().entrySet().stream()
        .filter(each -> each.getValue().address().equals(address))
        .findFirst()
        .orElseThrow()
        .getKey();
  }

  private static Path stored(String id, String digest) {
    return node(id).state().resolve("plugins/files/" + digest + ".jar");
  }

  /** Runs the operator's command line at one node. */
  private static Finished through(String id, String... arguments) {
    cluster.through(node(id).address());
    return cluster.ctl(arguments);
  }

  private static String[] plugin(String... arguments) {
    List<String> all = new ArrayList<>(List.of("plugin"));
    all.addAll(List.of(arguments));
    return all.toArray(String[]::new);
  }

  private static Finished done(String id, String... arguments) {
    Finished finished = through(id, plugin(arguments));
    assertEquals(0, finished.code(), () -> List.of(arguments) + ": " + finished.all());
    return finished;
  }

  /** Requires that nodes run a version; an empty one stands for none. */
  private static void assertRuns(String name, String version, String... ids) {
    for (String id : ids) {
      assertEquals(version.isEmpty() ? List.of() : List.of(version), versions(id, name), id);
    }
  }

  /** Waits until the cluster says the same of a node as that node itself. */
  private static void awaitRuns(String id, String name, String version) throws Exception {
    await(
        id,
        name,
        "to run " + (version.isEmpty() ? "none" : version),
        row ->
            GrowingCluster.text(row, "runs").equals(version) && row.get("asWanted").getAsBoolean());
    assertRuns(name, version, id);
  }

  private static void await(String id, String name, String what, Predicate<JsonObject> is)
      throws Exception {
    JsonObject none = new JsonObject();
    none.addProperty("runs", "");
    none.addProperty("whyNot", "");
    none.addProperty("asWanted", true);
    Await.until(
        TestNode.PATIENCE,
        "node %s %s of %s".formatted(id, what, name),
        () -> answers() && is.test(row(id, name).orElse(none)),
        () -> cluster.ctl("plugin", "diff").all() + logs(id));
  }

  private static boolean answers() {
    return cluster.ctl("node", "list").code() == 0;
  }

  /** Returns what the cluster knows of a plugin on a node. */
  private static Optional<JsonObject> row(String id, String name) {
    return named(cluster.ctl("plugin", "diff", id, "--all", "-o", "json"), name).findFirst();
  }

  /** Returns the versions of a plugin that a node says to run. */
  private static List<String> versions(String id, String name) {
    return named(through(id, "plugin", "list", "-o", "json"), name)
        .map(row -> GrowingCluster.text(row, "version"))
        .toList();
  }

  private static Stream<JsonObject> named(Finished answer, String name) {
    if (answer.out().isBlank()) {
      return Stream.of();
    }
    return StreamSupport.stream(
            JsonParser.parseString(answer.out()).getAsJsonArray().spliterator(), false)
        .map(JsonElement::getAsJsonObject)
        .filter(row -> GrowingCluster.text(row, "name").equals(name));
  }

  private static String logs(String id) {
    return through(id, "node", "logs", id, "--dn", "root.convergence").all();
  }

  /** Requires that a node got a file once, from such a node. */
  private static void assertFetched(
      String id, String name, String version, Predicate<String> giver) {
    List<String> givers = givers(id, name, version);
    assertEquals(1, givers.size(), () -> logs(id));
    assertTrue(giver.test(givers.getFirst()), () -> logs(id));
  }

  /** Returns the nodes from which a node got a file, by its log. */
  private static List<String> givers(String id, String name, String version) {
    return logs(id)
        .lines()
        .filter(line -> line.contains("the file of %s %s is complete".formatted(name, version)))
        .map(GIVEN::matcher)
        .filter(Matcher::find)
        .map(given -> given.group(1))
        .toList();
  }
}
