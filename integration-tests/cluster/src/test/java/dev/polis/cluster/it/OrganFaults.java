package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.Tier;
import dev.polis.wire.health.GetHealthResponse;
import dev.polis.wire.health.Level;
import dev.polis.wire.plugins.Plugin;
import dev.polis.wire.plugins.SwapProgress;
import dev.polis.wire.plugins.SwapProgress.Outcome;
import io.grpc.StatusException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Swaps the organs of one real node under writers, each time with a predecessor that ends badly.
 * Two such versions of an organ replace each other, so that each swap is a lap; the calls go over
 * one open channel, because a new one for each costs more than the swap.
 */
final class OrganFaults implements AutoCloseable {

  private static final int TIMES = Integer.getInteger("polis.times", Tier.isLong() ? 5 : 1);

  /** The organs of a run in pieces, such as {@code curator,roles}; empty for all. */
  private static final List<String> CHOSEN =
      Stream.of(System.getProperty("polis.organs", "").split(","))
          .filter(each -> !each.isEmpty())
          .map("dev.polis."::concat)
          .toList();

  private static final List<String> FAULTY = List.of("0.2.1", "0.2.2");

  private static final String WELL = "0.2.3";

  private static final Set<Outcome> DONE =
      EnumSet.of(Outcome.OUTCOME_APPLIED, Outcome.OUTCOME_NOTHING_TO_DO);

  /** Shortens the limit of a stop from half a minute to a second: a hang outlasts any limit. */
  private static final String[] OPTIONS = {
    "--set", "dev.polis.plugins.healthy.ms=100", "--set", "dev.polis.plugins.stop.ms=1000"
  };

  /** Names the fault in a swap. */
  enum Fault {
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

  /**
   * A version of an organ that ends badly while a file does not exist.
   *
   * @param number its version
   * @param end the file
   * @param jar the packed bundle
   */
  private record Version(String number, Path end, Path jar) {

    void endsBadly() throws IOException {
      Files.deleteIfExists(end);
    }

    void endsWell() throws IOException {
      if (!Files.exists(end)) {
        Files.createFile(end);
      }
    }
  }

  private final Path directory;
  private final TestNode node;
  private final OwnerApi owner;
  private final PluginCalls calls;
  private final PackedPlugins plugins;
  private final CrashWriters writers;
  private final String id;
  private final long etcd;

  private OrganFaults(Path directory, TestNode node, OwnerApi owner) throws Exception {
    this.directory = directory;
    this.node = node;
    this.owner = owner;
    this.calls = owner.plugins();
    this.plugins = PackedPlugins.of(node, directory.resolve("plugins"));
    this.id = node.id();
    this.etcd = node.etcd().pid();
    this.writers = CrashWriters.beside(node);
  }

  /** Starts a node in a folder, and the writers. */
  static OrganFaults of(Path directory, String address) throws Exception {
    TestNode node = TestNode.member(directory.resolve("n"), address);
    try {
      node.up(OPTIONS);
      return new OrganFaults(directory, node, OwnerApi.of(node));
    } catch (Exception | AssertionError e) {
      node.close();
      throw e;
    }
  }

  /** Returns the organs of this run. */
  static List<String> organs() throws IOException {
    return OrganSwapIT.organs().stream()
        .filter(organ -> CHOSEN.isEmpty() || CHOSEN.contains(organ))
        .toList();
  }

  /** Returns whether an organ has what a fault needs. */
  static boolean has(String organ, Fault fault) {
    return fault != Fault.RECONFIGURED || NUMBERS.containsKey(organ);
  }

  /** Swaps an organ as many times as the tier says, and expects the node whole after each swap. */
  void swap(String organ, Fault fault) throws Exception {
    Path folder = Files.createDirectories(directory.resolve(organ + "-" + fault));
    PackedPlugins own = plugins.in(folder);
    Version before = faulty(own, organ, fault, 0);
    before.endsWell();
    Instant began = Instant.now();
    requireDone(swap(before), "the first predecessor of " + organ + " " + fault);
    for (int time = 1; time <= TIMES; time++) {
      String when = "after %s %s, time %d".formatted(organ, fault, time);
      Version after = time == TIMES ? well(own, organ) : faulty(own, organ, fault, time);
      after.endsWell();
      before.endsBadly();
      switch (fault) {
        case HANGS -> hangs(after, when);
        case EXITS -> exits(after, when);
        case OTHER_STOPS -> otherStops(organ, after, when);
        case RECONFIGURED -> reconfigured(organ, time, before, after, when);
        case THROWS, LEAKS -> requireDone(swap(after), when);
      }
      before.endsWell();
      requireWhole(organ, after, when);
      before = after;
    }
    // The operator's view, which comes with the next heartbeat.
    Finished health = node.ctl("health", "--wait", "" + TestNode.PATIENCE.toSeconds());
    assertEquals(0, health.code(), () -> organ + " " + fault + ": " + health.all());
    if (Tier.isLong()) {
      System.out.printf(
          "%s %s: %d times in %d ms, %s%n",
          organ, fault, TIMES, Duration.between(began, Instant.now()).toMillis(), writers.words());
    }
  }

  /** Returns one of two versions, by turns. */
  private static Version faulty(PackedPlugins own, String organ, Fault fault, int time)
      throws IOException {
    String number = FAULTY.get(time % FAULTY.size());
    Path end = own.folder().resolve("end-" + number);
    return new Version(number, end, own.faulty(organ, number, fault.behaviour(), end));
  }

  private static Version well(PackedPlugins own, String organ) throws IOException {
    return new Version(WELL, own.folder().resolve("end"), own.version(organ, WELL));
  }

  private SwapProgress swap(Version to) throws Exception {
    return calls.swap(calls.stage(to.jar()), stage -> {});
  }

  private static void requireDone(SwapProgress swapped, String when) {
    assertTrue(DONE.contains(swapped.getOutcome()), () -> when + ": " + swapped);
  }

  private void hangs(Version to, String when) throws Exception {
    SwapProgress swapped = swap(to);
    requireDone(swapped, when);
    assertTrue(swapped.getText().contains("did not stop"), () -> when + ": " + swapped);
    GetHealthResponse health = owner.health();
    assertTrue(isWell(health), () -> when + ": " + health);
    assertTrue(
        health.getStatusesList().stream()
            .flatMap(each -> each.getConditionsList().stream())
            .anyMatch(condition -> condition.getCode().equals("old-version-stuck")),
        () -> when + ": " + health);
  }

  private void exits(Version to, String when) throws Exception {
    try {
      swap(to);
    } catch (StatusException e) {
      // The process ends before it answers.
    }
    assertNotEquals(0, node.awaitEnd(), when);
    node.up(OPTIONS);
    owner.reconnect();
    requireDone(swap(to), "once more " + when);
  }

  private void otherStops(String organ, Version to, String when) throws Exception {
    String other = organ.equals("dev.polis.debug") ? "dev.polis.metrics" : "dev.polis.debug";
    CountDownLatch underWay = new CountDownLatch(1);
    String digest = calls.stage(to.jar());
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
    calls.stop(other);
    requireDone(swap.get(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS), when);
    assertEquals(List.of(), running(other), when);
    calls.start(other);
  }

  private void reconfigured(String organ, int time, Version from, Version to, String when)
      throws Exception {
    // Alternates between two numbers, so that each swap changes the setting.
    String setting = organ + "." + NUMBERS.get(organ).formatted(1 + time % 2);
    node.ctl("config", "set", setting).requireSuccess(setting + " " + when);
    assertEquals(List.of(from.number()), running(organ), when);
    requireDone(swap(to), when);
    Finished now = node.ctl("config", "get", organ);
    String value = setting.substring(setting.indexOf('=') + 1);
    assertTrue(now.all().contains(value), () -> when + " without " + setting + ": " + now.all());
  }

  private void requireWhole(String organ, Version now, String when) throws Exception {
    Await.until(
        TestNode.PATIENCE,
        "one version of %s to be there %s".formatted(organ, when),
        () -> running(organ).equals(List.of(now.number())) && bundles(organ).size() == 1,
        () -> bundles(organ));
    Await.until(
        TestNode.PATIENCE, "health " + when, () -> isWell(owner.health()), () -> owner.health());
    writers.check(when);
    assertEquals(List.of(id), owner.nodes().stream().map(each -> each.getId()).toList(), when);
    assertEquals(etcd, node.etcd().pid(), () -> "etcd is another process " + when);
  }

  /** Returns whether all organs and roles do their work. */
  private static boolean isWell(GetHealthResponse health) {
    return health.getStatusesList().stream()
        .allMatch(
            each -> each.getLevel() == Level.LEVEL_UP || each.getLevel() == Level.LEVEL_DEGRADED);
  }

  private List<String> running(String organ) throws StatusException {
    return bundles(organ).stream()
        .filter(bundle -> bundle.getState() == Plugin.State.STATE_ACTIVE)
        .map(Plugin::getVersion)
        .toList();
  }

  private List<Plugin> bundles(String organ) throws StatusException {
    return calls.list().stream().filter(each -> each.getSymbolicName().equals(organ)).toList();
  }

  @Override
  public void close() {
    writers.close();
    owner.close();
    node.close();
  }
}
