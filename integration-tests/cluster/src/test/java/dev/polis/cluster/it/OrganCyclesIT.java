package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.cluster.it.AnswerClock.Stretch;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.Slice;
import dev.polis.fixtures.Tier;
import dev.polis.wire.plugins.SwapProgress;
import dev.polis.wire.plugins.SwapProgress.Outcome;
import io.grpc.StatusException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Replaces the organs of one running node many times under full load, compares the longest time
 * without an answer with the aim of each organ, and counts what remains in the node's JVM.
 *
 * <p>The long form, {@code polis test --long}, swaps each organ 120 times, consensus and storage 30
 * times. {@code -Dpolis.organs=curator,roles} chooses organs, {@code -Dpolis.swaps=1000} another
 * number, {@code -Dpolis.limit=SECONDS} the time for one organ.
 */
@Tag("longer")
class OrganCyclesIT {

  private static final boolean LONG = Tier.isLong();

  /** At least two swaps to warm up, and four that are measured. */
  private static final int SWAPS = Integer.getInteger("polis.swaps", LONG ? 120 : 6);

  /** The swaps of organs with a child process, each of which adopts the process. */
  private static final int DEEP_SWAPS = Math.min(SWAPS, LONG ? 30 : 6);

  /** The swaps of each organ that are measured while no other test runs. */
  private static final int MEASURED = 10;

  /**
   * The rounds of ten swaps. A pause of the node comes in each round, a pause of the machine does
   * not: in the few seconds of a round, another virtual machine may take a core.
   */
  private static final int ROUNDS = 3;

  private static final List<String> ORGANS =
      List.of(
          "management",
          "debug",
          "metrics",
          "containers",
          "kubernetes",
          "convergence",
          "roles",
          "curator",
          "cluster",
          "network",
          "storage",
          "consensus");

  /**
   * The organ that holds the records, and the deepest one, which has a child process. A quick run
   * cycles the first alone: the load keeps both processors busy for half a minute per organ.
   */
  private static final List<String> FEW =
      Tier.current() == Tier.QUICK ? List.of("curator") : List.of("curator", "consensus");

  private static final List<String> DEEP = List.of("storage", "consensus");

  /** The first swaps fill caches and compile code. The other nine of ten are compared. */
  private static final double WARM = 0.1;

  /** The time for the swaps of one organ; the swaps done within it are measured. */
  private static final Duration LIMIT = Duration.ofSeconds(Integer.getInteger("polis.limit", 3600));

  /**
   * The number of swaps per measurement of the same time without a swap, after the first ones. The
   * node collects its whole heap every 12 s under this load, which takes 80 ms: that decides the
   * p99 of a few hundred stretches of a third of a second, so there are as many without a swap.
   */
  private static final int BASELINE = SWAPS < 1_000 ? 1 : 5;

  /** The allowed growth of metaspace: 2 MiB, which is less than one organ. */
  private static final long METASPACE = 2L << 20;

  /**
   * The allowed chance growth: a carrier of virtual threads, a compiler thread of the JVM and an
   * idle connection.
   */
  private static final int BY_CHANCE = 3;

  /** The failed swaps that end a run of one organ, since more would show nothing new. */
  private static final int ENOUGH = 10;

  /** The number of grown classes that are named. */
  private static final int GROWN = 25;

  /**
   * The median time that a few swaps may add while other tests run: the aim of the deepest organs,
   * since another test may delay any organ for longer than a shallow one's aim.
   */
  private static final Duration BESIDE_OTHERS = Duration.ofMillis(250);

  private static final int P50 = 50;
  private static final int P95 = 95;
  private static final int P99 = 99;

  /**
   * The percentile that the long form compares with the aim. A collection of the whole heap falls
   * into about three of a hundred swaps and three of a hundred intervals without one, so the p99 of
   * a hundred compares one collection with another; their p95 is not decided by it.
   */
  private static final int TAIL = SWAPS < 1_000 ? P95 : P99;

  /** The number of swaps between two reports of progress in the long form. */
  private static final int PROGRESS = 50;

  @TempDir static Path directory;
  private static TestNode node;
  private static OwnerApi owner;
  private static PackedPlugins plugins;
  private static PluginCalls calls;

  @BeforeAll
  static void start() throws Exception {
    node = TestNode.prepared(directory.resolve("n"), "127.0.38.1");
    // The load itself checks the organ with each call; a longer gate would be waited for 8,000
    // times.
    node.up("--set", "dev.polis.plugins.healthy.ms=20");
    node.takeOwnership();
    owner = OwnerApi.of(node);
    plugins = PackedPlugins.of(node, directory.resolve("plugins"));
    calls = owner.plugins();
    node.ctl("node", "role", "add", node.id(), "KubernetesController").requireSuccess("role");
  }

  @AfterAll
  static void stop() {
    if (owner != null) {
      owner.close();
    }
    node.close();
  }

  static Stream<String> organs() {
    String chosen = System.getProperty("polis.organs");
    if (chosen != null) {
      return Stream.of(chosen.split(","));
    }
    return (LONG ? ORGANS : FEW).stream();
  }

  static Stream<String> measured() {
    return System.getProperty("polis.organs") == null ? Slice.of(ORGANS, 3).stream() : organs();
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("organs")
  @DisplayName(
      "an organ is replaced repeatedly under full load: no call fails, no event or line is"
          + " lost or comes twice, and nothing is left behind")
  void cycles(String organ) throws Exception {
    String name = "dev.polis." + organ;
    int swaps = DEEP.contains(organ) ? DEEP_SWAPS : SWAPS;
    int warm = Math.max(2, (int) (swaps * WARM));
    List<String> versions =
        List.of(
            calls.stage(plugins.version(name, "0.2.1")),
            calls.stage(plugins.version(name, "0.2.2")));
    ProcessHandle etcd = node.etcd();
    Optional<Instant> etcdStart = etcd.info().startInstant();
    List<String> mounts = node.mounts();
    int errors = errors().size();

    Cycles warming = new Cycles(organ, versions);
    CycleLoad.Tally first = warming.warmUp(warm);
    NodeCensus before = settled();
    // The warm-up may have ended early: the first swap must bring the other version.
    List<String> next = warming.swapped.size() % 2 == 0 ? versions : versions.reversed();
    MachineSpeed speed = MachineSpeed.measure();
    Cycles measured = new Cycles(organ, next);
    CycleLoad.Tally second = measured.run(swaps - warm + swaps % 2);
    NodeCensus after = settled(before);

    List<String> left = left(before, after);
    print(organ, measured, second, before, after, left);
    CyclePause pause = CyclePause.of(organ);
    requireNoLoss(warming, first);
    requireNoLoss(measured, second);
    requireAim(measured, speed, pause, LONG ? TAIL : P50, LONG ? pause.limit() : BESIDE_OTHERS);
    Set<String> tokens = new TreeSet<>(first.tokens());
    tokens.addAll(second.tokens());
    assertTrue(tokens.size() <= 1, () -> "the curator was elected anew: fencing tokens " + tokens);
    assertEquals(etcd.pid(), node.etcd().pid(), "etcd was restarted");
    assertEquals(etcdStart, node.etcd().info().startInstant(), "etcd was restarted");
    assertEquals(mounts, node.mounts());
    assertEquals(List.of(), errors().subList(errors, errors().size()), "errors of the node");
    assertEquals(List.of(), left, () -> grown(before, after));
  }

  /**
   * Measures while no other test runs, as the aims require: beside other tests a pause has no
   * meaning.
   */
  // In the short form, every third organ: each costs a quarter of a minute of the whole machine.
  @Tag("full")
  @Tag("alone")
  @ParameterizedTest(name = "{0}")
  @MethodSource("measured")
  @DisplayName(
      "the median swap of ten adds at most the aim to the longest time without an answer, in the"
          + " quietest of three rounds, and leaves nothing behind")
  void pauses(String organ) throws Exception {
    String name = "dev.polis." + organ;
    List<String> versions =
        List.of(
            calls.stage(plugins.version(name, "0.2.1")),
            calls.stage(plugins.version(name, "0.2.2")));
    // The first swap of each version loads and compiles code.
    Cycles warming = new Cycles(organ, versions);
    requireNoLoss(warming, warming.warmUp(2));
    NodeCensus before = settled();
    CyclePause pause = CyclePause.of(organ);
    MachineSpeed speed = MachineSpeed.measure();
    Optional<Cycles> quietest = Optional.empty();
    for (int round = 0; round < ROUNDS && !within(quietest, pause); round++) {
      Cycles measured = new Cycles(organ, versions);
      requireNoLoss(measured, measured.run(MEASURED));
      quietest =
          Stream.concat(quietest.stream(), Stream.of(measured))
              .min(Comparator.comparing(cycles -> cycles.added(P50)));
    }
    Cycles best = quietest.orElseThrow();
    requireAim(best, speed, pause, P50, pause.medianWhere(best.curatorWait()));
    NodeCensus after = settled(before);
    assertEquals(List.of(), left(before, after), () -> grown(before, after));
  }

  private static boolean within(Optional<Cycles> cycles, CyclePause pause) {
    return cycles
        .filter(each -> each.added(P50).compareTo(pause.medianWhere(each.curatorWait())) <= 0)
        .isPresent();
  }

  private static void requireAim(
      Cycles cycles, MachineSpeed speed, CyclePause pause, int percent, Duration limit) {
    Duration with = at(gaps(cycles.swapped), percent);
    Duration without = at(gaps(cycles.quiet), percent);
    System.out.printf(
        "%s: gap %s; %s%n",
        cycles.organ, compared(cycles.swapped, cycles.quiet, Stretch::gap), pause);
    speed.assertWithin(
        "a swap of %s added to the longest time without an answer, p%d %s instead of %s (%s),"
            .formatted(cycles.organ, percent, millis(with), millis(without), pause),
        limit,
        cycles.added(percent));
  }

  private static void requireNoLoss(Cycles cycles, CycleLoad.Tally tally) {
    assertEquals(List.of(), cycles.failed, "swaps that were not applied");
    assertEquals(0, tally.failed(), () -> "failed calls: " + tally.troubles());
    assertEquals(List.of(), tally.troubles());
    assertEquals(0, tally.lostWrites(), "writers whose last acknowledged write is lost");
    assertEquals(0, tally.behind(), "watchers that have not seen the last writes");
    assertEquals(0, tally.lostLines(), "lines of the log that a follower did not get");
    assertEquals(0, tally.doubledLines(), "lines of the log that a follower received twice");
    assertEquals(0, tally.slowLines(), "lines that the node left out for slowness");
  }

  /** Returns the errors and stack traces that the node has printed. */
  private static List<String> errors() {
    return node.said()
        .lines()
        .filter(line -> line.contains("Exception") || line.matches("\\S+ +E\\d{4} .*"))
        .toList();
  }

  /** The observations of the organ's callers and of the curator's in one period. */
  private record Pair(Stretch organ, Stretch curator) {
    /** Ends a period; an organ without callers of its own is measured by the curator's. */
    static Pair of(CycleLoad load) {
      Stretch curator = load.curatorClock().next();
      return new Pair(load.hasProbe() ? load.organClock().next() : curator, curator);
    }
  }

  /** Swaps one organ between two versions of it. */
  private static final class Cycles {
    final long began = System.nanoTime();
    final String organ;
    final List<String> versions;
    final List<Stretch> swapped = new ArrayList<>();
    final List<Stretch> quiet = new ArrayList<>();
    final List<Stretch> curatorSwapped = new ArrayList<>();
    final List<Stretch> curatorQuiet = new ArrayList<>();
    final List<Duration> took = new ArrayList<>();
    final Map<String, List<Duration>> stages = new LinkedHashMap<>();
    final List<String> failed = new ArrayList<>();

    Cycles(String organ, List<String> versions) {
      this.organ = organ;
      this.versions = versions;
    }

    /** Makes swaps that no time without a swap is compared with. */
    CycleLoad.Tally warmUp(int swaps) throws Exception {
      return run(swaps, false);
    }

    CycleLoad.Tally run(int swaps) throws Exception {
      return run(swaps, true);
    }

    private CycleLoad.Tally run(int swaps, boolean compared) throws Exception {
      try (CycleLoad load = CycleLoad.on(node, owner, organ)) {
        for (int swap = 0; swap < swaps && !over(); swap++) {
          try {
            one(load, swap, compared);
          } catch (StatusException | AssertionError e) {
            failed.add("swap %d: %s".formatted(swap + 1, e));
          }
          if (LONG && compared && swap % PROGRESS == PROGRESS - 1) {
            System.out.printf(
                "%tT %s: %d swaps, gap %s, not applied %s%n",
                LocalTime.now(), organ, swap + 1, compared(swapped, quiet, Stretch::gap), failed);
          }
        }
        return load.end();
      }
    }

    /** Returns the time that a swap adds to the longest time without an answer. */
    Duration added(int percent) {
      return at(gaps(swapped), percent).minus(at(gaps(quiet), percent));
    }

    /** Returns the median of the longest waits of the curator's callers without a swap. */
    Duration curatorWait() {
      return at(gaps(curatorQuiet), P50);
    }

    private boolean over() {
      return failed.size() >= ENOUGH || System.nanoTime() - began > LIMIT.toNanos();
    }

    private void one(CycleLoad load, int swap, boolean compared) throws Exception {
      Duration swapTook = swap(load, versions.get(swap % 2));
      if (compared && (swap % BASELINE == 0 || swap < MEASURED)) {
        // As long as the swap, so that the same number of chance pauses falls into it.
        LockSupport.parkNanos(swapTook.toNanos());
        load.awaitAnswers("without a swap of " + organ);
        Pair measured = Pair.of(load);
        quiet.add(measured.organ());
        curatorQuiet.add(measured.curator());
      }
    }

    private void note(SwapProgress stage, AtomicLong former) {
      String name = stage.getStage().isEmpty() ? "end" : stage.getStage();
      long since = stage.getElapsedMillis() - former.getAndSet(stage.getElapsedMillis());
      stages.computeIfAbsent(name, key -> new ArrayList<>()).add(Duration.ofMillis(since));
    }

    private Duration swap(CycleLoad load, String digest) throws Exception {
      Pair.of(load);
      long begun = System.nanoTime();
      AtomicLong former = new AtomicLong();
      SwapProgress end = calls.swap(digest, stage -> note(stage, former));
      took.add(Duration.ofNanos(System.nanoTime() - begun));
      if (end.getOutcome() != Outcome.OUTCOME_APPLIED || !end.getText().isEmpty()) {
        failed.add(end.getOutcome() + ": " + end.getText());
      }
      // Counts the answer to a held call in this swap's period, not in the next one's.
      load.awaitAnswers("after a swap of " + organ);
      Pair measured = Pair.of(load);
      swapped.add(measured.organ());
      curatorSwapped.add(measured.curator());
      return took.getLast();
    }
  }

  /** Returns the time of each stage by its name, in the order of the first swap. */
  private static String stages(Map<String, List<Duration>> stages) {
    return stages.entrySet().stream()
        .map(each -> each.getKey() + " " + millis(at(each.getValue(), P50)))
        .collect(Collectors.joining(", "));
  }

  /** Counts until two counts in a row have the same threads, loaders and descriptors. */
  private static NodeCensus settled() throws Exception {
    List<NodeCensus> counts = new ArrayList<>(List.of(count()));
    if (!LONG) {
      // The comparison counts again until the node is at rest.
      return counts.getLast();
    }
    Await.until(
        TestNode.PATIENCE,
        "the node to come to rest",
        () -> {
          counts.add(count());
          NodeCensus former = counts.get(counts.size() - 2);
          NodeCensus now = counts.getLast();
          return former.threads() == now.threads()
              && former.loaders() == now.loaders()
              && former.descriptors() == now.descriptors();
        });
    return counts.getLast();
  }

  private static NodeCensus count() throws Exception {
    return NodeCensus.of(node.jvmPid(), directory);
  }

  /** Counts until nothing is left behind, or until the remains are certain to stay. */
  private static NodeCensus settled(NodeCensus before) throws Exception {
    NodeCensus now = settled();
    long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
    while (!left(before, now).isEmpty() && System.nanoTime() < deadline) {
      now = settled();
    }
    return now;
  }

  private static List<String> left(NodeCensus before, NodeCensus after) {
    List<String> left = new ArrayList<>();
    more(left, "threads", before.threads() + BY_CHANCE, after.threads());
    // A thread's stack or a cache of one entry may still refer to the last one.
    more(left, "class loaders", before.loaders() + 1, after.loaders());
    more(left, "wirings", before.wirings() + 1, after.wirings());
    more(left, "services", before.services(), after.services());
    more(left, "MBeans", before.mbeans(), after.mbeans());
    more(left, "descriptors", before.descriptors() + BY_CHANCE, after.descriptors());
    more(left, "bytes of metaspace", before.metaspace() + METASPACE, after.metaspace());
    return left;
  }

  private static void more(List<String> left, String what, long limit, long now) {
    if (now > limit) {
      left.add("%,d %s, which is more than %,d".formatted(now, what, limit));
    }
  }

  private static String grown(NodeCensus before, NodeCensus after) {
    return "there is more of"
        + JvmCensus.more(before.names(), after.names())
        + JvmCensus.more(before.instances(), after.instances());
  }

  private static void print(
      String organ,
      Cycles cycles,
      CycleLoad.Tally tally,
      NodeCensus before,
      NodeCensus after,
      List<String> left) {
    System.out.printf(
        "%s: %d swaps, each took p50 %s, p99 %s (%s)%n  gap %s; slowest call %s%n  of the curator: gap %s; slowest call %s%n  %s%n  %s%n  grown: %s%n  left: %s; faults: %s%n",
        organ,
        cycles.swapped.size(),
        millis(at(cycles.took, P50)),
        millis(at(cycles.took, P99)),
        stages(cycles.stages),
        compared(cycles.swapped, cycles.quiet, Stretch::gap),
        compared(cycles.swapped, cycles.quiet, Stretch::slowest),
        compared(cycles.curatorSwapped, cycles.curatorQuiet, Stretch::gap),
        compared(cycles.curatorSwapped, cycles.curatorQuiet, Stretch::slowest),
        tally.words(),
        before.beside(after),
        after.grown(before, GROWN),
        left,
        tally.troubles());
  }

  /** Returns a time with swaps, beside the same time in equally long periods without a swap. */
  private static String compared(
      List<Stretch> swapped, List<Stretch> quiet, Function<Stretch, Duration> which) {
    List<Duration> with = swapped.stream().map(which).toList();
    List<Duration> without = quiet.stream().map(which).toList();
    return "p50 %s, p95 %s, p99 %s (without a swap %s, %s, %s)"
        .formatted(
            millis(at(with, P50)),
            millis(at(with, P95)),
            millis(at(with, P99)),
            millis(at(without, P50)),
            millis(at(without, P95)),
            millis(at(without, P99)));
  }

  private static List<Duration> gaps(List<Stretch> stretches) {
    return stretches.stream().map(Stretch::gap).toList();
  }

  private static Duration at(List<Duration> durations, int percent) {
    List<Duration> sorted = durations.stream().sorted().toList();
    return sorted.get((int) Math.ceil(sorted.size() * percent / 100.0) - 1);
  }

  private static String millis(Duration duration) {
    return "%.1f ms".formatted(duration.toNanos() / 1e6);
  }
}
