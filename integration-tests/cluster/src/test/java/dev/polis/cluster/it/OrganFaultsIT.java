package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.Slice;
import dev.polis.fixtures.Tier;
import dev.polis.wire.plugins.SwapProgress;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Swaps each organ of a real node under writers while its predecessor ends badly, with another
 * configuration, or while another organ is stopped. The short form tests one organ of each kind;
 * the long form, {@code polis test --long}, each organ five times, or {@code -Dpolis.times=20}
 * times.
 */
@Tag("full")
@Tag("longer")
class OrganFaultsIT {

  private static final int TIMES = Integer.getInteger("polis.times", Tier.isLong() ? 5 : 1);

  private static final String FAULTY = "0.2.1";
  private static final String WELL = "0.2.2";

  /**
   * Shortens the limit of a stop from half a minute to seconds, which are enough to notice a hang.
   */
  private static final String[] OPTIONS = {
    "--set", "dev.polis.plugins.healthy.ms=100", "--set", "dev.polis.plugins.stop.ms=2500"
  };

  /** Names the fault in a swap. */
  private enum Fault {
    /** The predecessor's deactivation does not end. */
    HANGS,
    /** The predecessor's deactivation throws an exception. */
    THROWS,
    /** The predecessor leaves a thread behind. */
    LEAKS,
    /** The predecessor's deactivation ends the process. */
    EXITS,
    /** The operator stops another organ in the middle of the swap. */
    OTHER_STOPS,
    /** The predecessor's deactivation throws, and its successor has another configuration. */
    RECONFIGURED;

    /** Returns the predecessor's behaviour; it ends normally for a name that it does not know. */
    String behaviour() {
      return this == RECONFIGURED ? THROWS.name() : name();
    }
  }

  /** A numeric setting of each organ that has one, whose last digit may change. */
  private static final Map<String, String> NUMBERS =
      Map.ofEntries(
          Map.entry("dev.polis.cluster", "consensus.ready=6%d"),
          Map.entry("dev.polis.consensus", "maintenance.seconds=6%d"),
          Map.entry("dev.polis.containers", "ready.seconds=6%d"),
          Map.entry("dev.polis.convergence", "retry.ms=1500%d"),
          Map.entry("dev.polis.curator", "leader.ttl=1%d"),
          Map.entry("dev.polis.debug", "readers=6%d"),
          Map.entry("dev.polis.kubernetes", "pod.patience.seconds=3%d"),
          Map.entry("dev.polis.metrics", "node.exporter.port=784%d"),
          Map.entry("dev.polis.network", "resolver.file=/etc/resolv%d.conf"),
          Map.entry("dev.polis.roles", "heartbeat.interval=250%d"),
          Map.entry("dev.polis.storage", "volume.mebibytes=819%d"));

  /** The organs of the short form, one for each fault in order; it makes every second fault. */
  private static final List<String> SHORT =
      List.of(
          "dev.polis.cluster",
          "dev.polis.consensus",
          "dev.polis.containers",
          "dev.polis.convergence",
          "dev.polis.curator",
          "dev.polis.storage");

  @TempDir static Path directory;
  private static TestNode node;
  private static OwnerApi owner;
  private static PackedPlugins plugins;
  private static CrashWriters writers;
  private static String id;
  private static long etcd;

  @BeforeAll
  static void start() throws Exception {
    node = TestNode.member(directory.resolve("n"), "127.0.36.1");
    node.up(OPTIONS);
    owner = OwnerApi.of(node);
    plugins = PackedPlugins.of(node, directory.resolve("plugins"));
    writers = CrashWriters.of(node);
    id = node.id();
    etcd = node.etcd().pid();
  }

  @AfterAll
  static void stop() {
    if (writers != null) {
      writers.close();
    }
    if (owner != null) {
      owner.close();
    }
    node.close();
  }

  static Stream<Arguments> swaps() throws IOException {
    List<String> organs = OrganSwapIT.organs();
    List<Fault> faults = List.of(Fault.values());
    return Tier.isLong()
        ? organs.stream()
            .flatMap(
                organ ->
                    faults.stream()
                        .filter(each -> each != Fault.RECONFIGURED || NUMBERS.containsKey(organ))
                        .map(each -> Arguments.of(organ, each)))
        : Slice.of(faults, 2).stream().map(each -> Arguments.of(SHORT.get(each.ordinal()), each));
  }

  @ParameterizedTest(name = "{0} {1}")
  @MethodSource("swaps")
  @DisplayName(
      "a swap succeeds while the predecessor hangs, throws, leaks or ends the process, with another"
          + " configuration, and while another organ is stopped: no acknowledged write is lost, nothing is left")
  void succeeds(String organ, Fault fault) throws Exception {
    Path folder = directory.resolve(organ + "-" + fault);
    Path end = Files.createDirectories(folder).resolve("end");
    PackedPlugins own = plugins.in(folder);
    Path faulty = own.faulty(organ, FAULTY, fault.behaviour(), end);
    Path well = own.version(organ, WELL);
    for (int time = 1; time <= TIMES; time++) {
      String when = "after %s %s, time %d".formatted(organ, fault, time);
      Files.deleteIfExists(end);
      swap(faulty).requireSuccess("the predecessor " + when);
      switch (fault) {
        case HANGS -> hangs(well, when);
        case EXITS -> exits(well, when);
        case OTHER_STOPS -> otherStops(organ, well, when);
        case RECONFIGURED -> reconfigured(organ, time, well, when);
        case THROWS, LEAKS -> swap(well).requireSuccess(when);
      }
      if (!Files.exists(end)) {
        Files.createFile(end);
      }
      requireWhole(organ, when);
    }
  }

  private static void hangs(Path well, String when) {
    Finished swap = swap(well);
    assertEquals(0, swap.code(), () -> when + ": " + swap.all());
    assertTrue(swap.all().contains("did not stop"), () -> when + ": " + swap.all());
    Finished health = node.ctl("health");
    assertTrue(health.all().contains("old-version-stuck"), () -> when + ": " + health.all());
    assertEquals(0, health.code(), () -> when + ": " + health.all());
  }

  private static void exits(Path well, String when) throws Exception {
    swap(well);
    assertNotEquals(0, node.awaitEnd(), when);
    node.up(OPTIONS);
    writers.awaitMore(when);
    swap(well).requireSuccess("once more " + when);
  }

  private static void otherStops(String organ, Path well, String when) throws Exception {
    String other = organ.equals("dev.polis.debug") ? "dev.polis.metrics" : "dev.polis.debug";
    CountDownLatch underWay = new CountDownLatch(1);
    PluginCalls calls = owner.plugins();
    String digest = calls.stage(well);
    CompletableFuture<SwapProgress> swap =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return calls.swap(digest, stage -> underWay.countDown());
              } catch (Exception e) {
                throw new AssertionError(when, e);
              }
            });
    assertTrue(underWay.await(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS), when);
    node.ctl("bundle", "stop", other).requireSuccess("stop of " + other + " " + when);
    SwapProgress swapped = swap.get(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    assertEquals(SwapProgress.Outcome.OUTCOME_APPLIED, swapped.getOutcome(), swapped::getText);
    assertEquals(List.of(), running(other), when);
    node.ctl("bundle", "start", other).requireSuccess("start of " + other + " " + when);
  }

  private static void reconfigured(String organ, int time, Path well, String when)
      throws Exception {
    // Alternates between two numbers, so that each swap changes the setting.
    String setting = organ + "." + NUMBERS.get(organ).formatted(1 + time % 2);
    node.ctl("config", "set", setting).requireSuccess(setting + " " + when);
    assertEquals(List.of(FAULTY), running(organ), when);
    swap(well).requireSuccess(when);
    Finished now = node.ctl("config", "get", organ);
    String value = setting.substring(setting.indexOf('=') + 1);
    assertTrue(now.all().contains(value), () -> when + " without " + setting + ": " + now.all());
  }

  private static Finished swap(Path plugin) {
    return node.ctl("plugin", "swap", "--older", plugin.toString());
  }

  private static void requireWhole(String organ, String when) throws Exception {
    Await.until(
        TestNode.PATIENCE,
        "one version of %s to be there %s".formatted(organ, when),
        () -> running(organ).equals(List.of(WELL)) && bundles(organ).size() == 1);
    Finished health = node.ctl("health", "--wait", "" + TestNode.PATIENCE.toSeconds());
    assertEquals(0, health.code(), () -> when + ": " + health.all());
    writers.awaitMore(when);
    writers.check(when);
    assertEquals(id, node.id(), when);
    assertEquals(etcd, node.etcd().pid(), () -> "etcd is another process " + when);
  }

  private static List<String> running(String organ) throws Exception {
    return bundles(organ).stream()
        .filter(bundle -> bundle.get("state").getAsString().equals("ACTIVE"))
        .map(bundle -> bundle.get("version").getAsString())
        .toList();
  }

  private static List<JsonObject> bundles(String organ) throws Exception {
    return node.json("bundle", "list").getAsJsonArray().asList().stream()
        .map(JsonElement::getAsJsonObject)
        .filter(bundle -> bundle.get("name").getAsString().equals(organ))
        .toList();
  }
}
