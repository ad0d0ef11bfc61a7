package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.wire.plugins.SwapProgress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Swaps broken plugins into a real node, through the command line, while its owner writes. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Tag("full")
class BrokenPluginsIT {

  /** The time limit of each swap: the sum of the limits below, with the stop twice. */
  private static final Duration DEADLINE = Duration.ofSeconds(15);

  private static final String RUNNING = "1.0.0";

  /** A swap may be the first user of a pool or a codec, whose threads stay. */
  private static final int THREADS_BY_CHANCE = 3;

  @TempDir static Path directory;
  private static TestNode node;
  private static OwnerApi owner;
  private static FaultyPlugins plugins;
  private static String id;
  private static long etcd;
  private static JvmCensus before;

  private SteadyWriter writer;
  private long process;

  @BeforeAll
  static void start() throws Exception {
    node = TestNode.member(directory.resolve("n"), "127.0.35.1");
    up();
    owner = OwnerApi.of(node);
    id = node.id();
    plugins = FaultyPlugins.of(node, directory.resolve("plugins"));
    swap(plugins.version(RUNNING, FaultyPlugins.WELL)).requireSuccess("the first version");
    etcd = node.etcd().pid();
    before = JvmCensus.of(node.jvmPid(), directory);
  }

  /**
   * Keeps the standard gate of three seconds, in which a version's garbage is collected. Shortens
   * the other limits from minutes to seconds, which are enough for these behaviours. The heap is
   * not the smallest: a swap sees new objects when the JVM has collected them, up to 25 MiB late,
   * and a version that eats so much more would end the smallest.
   */
  private static void up() throws Exception {
    node.up(
        "-Xmx160m",
        "--set",
        "dev.polis.plugins.deadline.ms=2500",
        "--set",
        "dev.polis.plugins.start.ms=2500",
        "--set",
        "dev.polis.plugins.stop.ms=2500");
  }

  @AfterAll
  static void stop() {
    if (owner != null) {
      owner.close();
    }
    node.close();
  }

  @BeforeEach
  void write() throws Exception {
    process = node.jvmPid();
    writer = SteadyWriter.patient(owner, id);
    writer.awaitMore("before the swap");
  }

  @AfterEach
  void nothingChanged() throws Exception {
    try {
      writer.awaitMore("after the swap");
      assertEquals(List.of(), writer.lost(), "lost acknowledged writes");
    } finally {
      writer.close();
    }
    assertEquals(process, node.jvmPid());
    assertEquals(etcd, node.etcd().pid(), "etcd is another process");
    assertEquals(List.of(RUNNING + " ACTIVE"), bundles());
    Finished health = node.ctl("health", "--wait", "" + TestNode.PATIENCE.toSeconds());
    assertEquals(0, health.code(), health::all);
  }

  private static Finished swap(Path plugin, String... options) {
    String[] command = new String[options.length + 3];
    command[0] = "plugin";
    command[1] = "swap";
    command[2] = plugin.toString();
    System.arraycopy(options, 0, command, 3, options.length);
    return node.ctl(command);
  }

  /** Swaps a version that must not be applied, and expects the outcome with its cause, in time. */
  private static void failing(Path plugin, String outcome, String... causes) {
    MachineSpeed speed = MachineSpeed.measure();
    long began = System.nanoTime();
    Finished swap = swap(plugin);
    Duration took = Duration.ofNanos(System.nanoTime() - began);
    System.out.printf(
        "%s: %s after %d ms%n", plugin.getFileName(), swap.lastLine(), took.toMillis());
    assertEquals(1, swap.code(), swap::all);
    assertTrue(swap.lastLine().startsWith(outcome + ": "), swap::all);
    for (String cause : causes) {
      assertTrue(swap.lastLine().contains(cause), () -> "not \"" + cause + "\": " + swap.all());
    }
    speed.assertWithin("the swap ended", DEADLINE, took);
  }

  /** Returns the versions and states of the organ's bundles. */
  private static List<String> bundles() throws Exception {
    return node.json("bundle", "list").getAsJsonArray().asList().stream()
        .map(JsonElement::getAsJsonObject)
        .filter(bundle -> bundle.get("name").getAsString().equals(FaultyPlugins.NAME))
        .map(
            bundle -> bundle.get("version").getAsString() + " " + bundle.get("state").getAsString())
        .toList();
  }

  /** The first version throws, the second has bad health, the third takes too much memory. */
  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "throws, the ticket is too short: 3 bytes, ''",
    "never-healthy, the organ faulty is DOWN: nothing answers on port 1, within 2.5 s",
    "eats-until-interrupted, MiB are alive on the heap, MiB more are allowed",
  })
  @Order(1)
  @DisplayName("a version that breaks when it runs is reverted in time, with the cause")
  void reverted(String behaviour, String cause, String more) throws Exception {
    isReverted(behaviour, cause, more);
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "healthy-then-not, the organ faulty is DOWN: nothing answers on port 1, ''",
    "starts-slowly, did not start: it took longer than 2.5 s, ''",
    "loops, it took longer than 2.5 s, does not end when interrupted",
    "leaks-threads, more than before the swap, '64 more are allowed'",
    "leaks-and-throws, the ticket is too short: 3 bytes, 'run on until the process is restarted: leak-0'",
    "eats, MiB are alive on the heap, MiB more are allowed",
  })
  @Order(1)
  @DisplayName("a version of each further kind is reverted in time, with the cause")
  void everyKindIsReverted(String behaviour, String cause, String more) throws Exception {
    isReverted(behaviour, cause, more);
  }

  private static void isReverted(String behaviour, String cause, String more) throws Exception {
    failing(plugins.version("2.0.0", behaviour), "reverted", cause, more);
    JsonObject last =
        node.json("plugin", "history").getAsJsonArray().asList().getLast().getAsJsonObject();
    assertEquals("reverted", last.get("outcome").getAsString());
    assertTrue(last.get("reason").getAsString().contains(cause), last::toString);
  }

  @Test
  @Order(2)
  @DisplayName(
      "a failed version is refused when it is swapped in again, with the reason of its failure")
  void failedIsRemembered() throws Exception {
    failing(
        plugins.version("2.0.0", "throws"), "refused", "the ticket is too short", "give --force");
  }

  @Test
  @Order(2)
  @DisplayName("a version that cannot be wired or verified is refused before any of its code runs")
  void refused() throws Exception {
    failing(
        plugins.importing("2.1.0", "org.nowhere;version=\"[2,3)\""),
        "refused",
        "imports the package org.nowhere",
        "which no bundle exports");
    failing(
        plugins.importing("2.1.1", "dev.polis.base.values;version=\"[7,8)\""),
        "refused",
        "imports the package dev.polis.base.values",
        "which the platform exports in version");
    failing(
        plugins.version("2.2.0", FaultyPlugins.WELL, "--minimum-platform", "9.9.9"),
        "refused",
        "needs the platform in version 9.9.9 or newer",
        "install a newer distribution");

    Path signed = plugins.version("2.3.0", FaultyPlugins.WELL);
    Path other = plugins.version("2.3.1", FaultyPlugins.WELL);
    byte[] manifest = Files.readAllBytes(ManifestEnvelope.beside(signed));

    Files.copy(
        ManifestEnvelope.beside(signed),
        ManifestEnvelope.beside(other),
        StandardCopyOption.REPLACE_EXISTING);
    failing(other, "refused", "the manifest of " + FaultyPlugins.NAME + ":2.3.0 says");

    Path changed = Files.copy(signed, plugins.folder().resolve("changed.jar"));
    byte[] content = Files.readAllBytes(changed);
    content[content.length / 2] ^= 1;
    Files.write(changed, content);
    Files.write(ManifestEnvelope.beside(changed), manifest);
    failing(changed, "refused", "has the digest");

    // The signature is at the end of the file.
    manifest[manifest.length - 1] ^= 1;
    Files.write(ManifestEnvelope.beside(signed), manifest);
    failing(signed, "refused", "the signature of the plugin manifest is not that of key");
  }

  @Test
  @Order(2)
  @DisplayName("a curator whose build lacks a class is reverted, and the leader continues")
  void brokenCurator() throws Exception {
    String curator = "dev.polis.curator";
    PackedPlugins organs = PackedPlugins.signedBy(node, plugins.folder(), plugins.key());
    failing(
        organs.without(curator, "0.9.0", "dev/polis/curator/CuratorService.class"),
        "reverted",
        "CuratorService");
    assertEquals(
        List.of("0.1.0"),
        node.json("bundle", "list").getAsJsonArray().asList().stream()
            .map(JsonElement::getAsJsonObject)
            .filter(bundle -> bundle.get("name").getAsString().equals(curator))
            .map(bundle -> bundle.get("version").getAsString())
            .toList());
  }

  @Test
  @Order(2)
  @DisplayName(
      "a second swap is refused with the name of the one under way; a cancelled one ends in the former state")
  void twoAtOnce() throws Exception {
    PluginCalls calls = owner.plugins();
    String slow = calls.stage(plugins.version("2.4.0", "starts-slowly"));
    Path second = plugins.version("2.4.1", FaultyPlugins.WELL);
    calls.stage(second);
    CountDownLatch underWay = new CountDownLatch(1);
    CompletableFuture<SwapProgress> first = new CompletableFuture<>();
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                first.complete(calls.swap(slow, stage -> underWay.countDown()));
              } catch (Exception e) {
                first.completeExceptionally(e);
              }
            });
    assertTrue(
        underWay.await(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS), "no swap is under way");

    Finished refused = swap(second);
    assertEquals(1, refused.code(), refused::all);
    assertTrue(refused.all().contains("swap of " + FaultyPlugins.NAME + " 2.4.0"), refused.all());
    assertTrue(refused.all().contains("plugin cancel"), refused.all());

    node.ctl("plugin", "cancel").requireSuccess("cancel");
    SwapProgress cancelled = first.get(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    assertEquals(SwapProgress.Outcome.OUTCOME_REVERTED, cancelled.getOutcome());
    assertTrue(cancelled.getText().contains("cancelled by "), cancelled::getText);
    Finished nothing = node.ctl("plugin", "cancel");
    assertTrue(nothing.all().contains("no swap is under way"), nothing.all());
  }

  @Test
  @Order(5)
  @DisplayName("a plugin whose key was removed does not start with the node, which reports it")
  void theKeyIsRemoved() throws Exception {
    node.ctl("plugin", "trust", "remove", "--force", "faulty").requireSuccess("remove the key");
    Path jar = plugins.version(RUNNING, FaultyPlugins.WELL);
    Await.until(
        TestNode.PATIENCE,
        "the node to hear of it",
        () -> swap(jar, "--dry-run").lastLine().startsWith("refused: "));

    // The writer pauses: writes during a restart have a test of their own.
    writer.close();
    node.ctl("node", "restart", "--runtime").requireSuccess("restart");

    Await.until(TestNode.PATIENCE, "the node to run without it", () -> bundles().isEmpty());
    Finished health = node.ctl("health");
    assertTrue(health.all().contains("plugin-not-trusted"), health::all);
    assertTrue(health.all().contains(FaultyPlugins.NAME + " " + RUNNING), health::all);
    node.ctl("plugin", "trust", "add", "faulty", plugins.key() + ".pub")
        .requireSuccess("the key again");
    swap(jar).requireSuccess("the plugin again");
    writer = SteadyWriter.patient(owner, id);
  }

  @Test
  @Order(3)
  @DisplayName("broken versions leave no thread, no class loader and no component behind")
  void nothingIsLeft() throws Exception {
    plugins.endAll();
    // Declarative Services and the framework hold a loader until the next change.
    swap(plugins.version("2.5.0", "throws"));
    Await.until(
        TestNode.PATIENCE, "nothing to be left", () -> left().isEmpty(), BrokenPluginsIT::left);
  }

  /** Returns the counts that are higher than before the first broken version. */
  private static Map<String, Integer> left() throws Exception {
    JvmCensus after = JvmCensus.of(node.jvmPid(), directory);
    Map<String, Integer> left = new TreeMap<>();
    // The loader of the last failed version may still be held.
    if (after.loaders() > before.loaders() + 1) {
      left.put("loaders", after.loaders() - before.loaders());
    }
    if (after.allThreads() > before.allThreads() + THREADS_BY_CHANCE) {
      left.put(
          "threads" + JvmCensus.more(before.threads(), after.threads()),
          after.allThreads() - before.allThreads());
    }
    after
        .components()
        .forEach(
            (component, count) -> {
              if (count > before.components().getOrDefault(component, 0)) {
                left.put(component, count);
              }
            });
    return left;
  }

  @Test
  @Order(4)
  @DisplayName("the same swap twice does nothing the second time")
  void sameTwice() throws Exception {
    Finished again = swap(plugins.version(RUNNING, FaultyPlugins.WELL));
    assertEquals(0, again.code(), again::all);
    assertTrue(again.lastLine().startsWith("nothing to do: "), again.all());
  }
}
