package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.polis.cluster.it.AnswerClock.Stretch;
import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.Slice;
import dev.polis.fixtures.Tier;
import dev.polis.wire.api.Node;
import dev.polis.wire.plugins.SwapProgress;
import dev.polis.wire.plugins.SwapProgress.Outcome;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Replaces the organs and steps the clocks of three voters, under writers, readers and watchers
 * through all of them.
 *
 * <p>The nodes are two days old by their certificates: they begin two days back, and then get the
 * time of the machine. {@code -Dpolis.times=5} chooses the rounds, {@code -Dpolis.organs=curator}
 * the organs.
 */
@Tag("full")
@Tag("longer")
class LiveClusterIT {

  private static final List<String> ADDRESSES = List.of("127.0.55.1", "127.0.55.2", "127.0.55.3");

  private static final int ROUNDS = Integer.getInteger("polis.times", Tier.pick(1, 1, 5));

  /**
   * The organ that holds the records, and the deepest one, which has a child process: by turns in
   * the short form.
   */
  private static final List<String> FEW = List.of("curator", "consensus");

  /** Kubernetes' organ is not swapped here: it has its own tests with its programs. */
  private static final List<String> ORGANS =
      List.of(
          "management",
          "debug",
          "metrics",
          "containers",
          "convergence",
          "roles",
          "curator",
          "cluster",
          "network",
          "storage",
          "consensus");

  /**
   * The time for which a swap may leave all callers of a service at all nodes without an answer. It
   * bounds a pause of one swap, which a collection of garbage at any of the nodes may lengthen;
   * {@link OrganCyclesIT} compares many swaps with the aim of each organ.
   */
  private static final Duration PAUSE = Duration.ofSeconds(1);

  /** The begin of the nodes, so that a step back by a day leaves their certificates valid. */
  private static final String FOUNDED = "-2d";

  /**
   * The steps of the clock of one node; between them it is right. The short form takes one each.
   */
  private static final List<String> STEPS = List.of("-1h", "+1h", "-1d", "+1d");

  /** The rates of a clock that is a tenth too fast, and of one that is a tenth too slow. */
  private static final List<Double> DRIFTS = List.of(0.1, -0.1);

  /** The time for two looks of a node at its own clock. */
  private static final Duration LOOKED = Duration.ofSeconds(11);

  private static final String DIFFERS = "clock-differs";
  private static final String WENT_BACK = "clock-went-back";
  private static final String CERTIFICATE = "certificate-";

  /** The writes and reads while a clock is wrong, and after it. */
  private static final int ENOUGH = 30;

  @TempDir static Path directory;

  private static final Map<String, NodeClock> CLOCKS = new HashMap<>();
  private static ThreeVoters voters;
  private static long setRight;
  private static List<OwnerApi> owners;
  private static Map<TestNode, OwnerApi> byNode;

  @BeforeAll
  static void grow() throws Exception {
    voters = new ThreeVoters(directory, ADDRESSES, Mode.INSECURE);
    Optional<Path> library = NodeClock.library();
    if (library.isPresent()) {
      voters.placed(node -> clocked(node, library.get())).bootstrapped();
    }
    voters.found();
    voters.join();
    voters.vote();
    for (NodeClock clock : CLOCKS.values()) {
      clock.set(NodeClock.TRUE);
    }
    setRight = System.nanoTime();
    byNode = new HashMap<>();
    for (TestNode node : voters.nodes()) {
      byNode.put(node, voters.through(node));
    }
    owners = List.copyOf(byNode.values());
    voters.awaitCandidates(ADDRESSES.size());
  }

  private static TestNode clocked(TestNode node, Path library) {
    try {
      Path file = Files.createTempFile(directory, "clock", "");
      CLOCKS.put(node.address(), NodeClock.of(node, library, file, FOUNDED));
      return node;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Sets all clocks right, also after a failure. */
  @AfterEach
  void setRight() throws Exception {
    for (NodeClock clock : CLOCKS.values()) {
      clock.set(NodeClock.TRUE);
    }
  }

  @AfterAll
  static void sweep() {
    if (owners != null) {
      owners.forEach(OwnerApi::close);
    }
    if (voters != null) {
      voters.close();
    }
  }

  private static List<String> organs() {
    String chosen = System.getProperty("polis.organs");
    if (chosen != null) {
      return List.of(chosen.split(","));
    }
    return Tier.isLong() ? ORGANS : Slice.of(FEW, 2);
  }

  @Test
  @DisplayName(
      "each organ is replaced on the leader and on a follower under writers, readers and watchers through all nodes: no call fails, no write is lost, and the leader stays")
  void organsAreReplaced() throws Exception {
    PackedPlugins plugins =
        PackedPlugins.of(voters.nodes().getFirst(), directory.resolve("plugins"));
    Map<TestNode, Integer> loaders = loaders();
    int version = 0;
    for (int round = 1; round <= ROUNDS; round++) {
      version++;
      for (String organ : organs()) {
        Path jar = plugins.version("dev.polis." + organ, "0.2." + version);
        TestNode leader = leader();
        TestNode follower = voters.without(leader).get(round % 2);
        swap(organ, jar, leader, "the leader", leader);
        swap(organ, jar, follower, "a follower", leader);
      }
    }
    awaitUnloaded(loaders);
  }

  private static void awaitUnloaded(Map<TestNode, Integer> loaders) throws Exception {
    AtomicReference<Map<TestNode, Integer>> left = new AtomicReference<>();
    Await.until(
        TestNode.PATIENCE,
        "the classes of all replaced versions to be unloaded",
        () -> {
          left.set(loaders());
          return left.get().equals(loaders);
        },
        () -> "%s loaders instead of %s".formatted(left.get().values(), loaders.values()));
  }

  private static Map<TestNode, Integer> loaders() throws Exception {
    Map<TestNode, Integer> loaders = new HashMap<>();
    for (TestNode node : voters.nodes()) {
      loaders.put(node, JvmCensus.of(node.jvmPid(), directory).loaders());
    }
    return loaders;
  }

  private static void swap(String organ, Path jar, TestNode node, String place, TestNode leader)
      throws Exception {
    String what = "%s on %s".formatted(organ, place);
    OwnerApi owner = byNode.get(node);
    TestNode founder = voters.nodes().getFirst();
    List<SteadyCaller.Call> probes = probes();
    OrganProbe.of(organ, founder, node, owner).ifPresent(probes::add);
    String digest = owner.plugins().stage(jar);
    ProcessHandle etcd = node.etcd();
    try (FailoverClients clients = voters.clients();
        CycleLoad load = CycleLoad.over(owners, voters.cluster().firstId(), probes)) {
      clients.awaitProgress(ENOUGH, "before a swap of " + what);
      MachineSpeed speed = MachineSpeed.measure();
      load.curatorClock().next();
      load.organClock().next();
      SwapProgress end = owner.plugins().swap(digest, stage -> {});
      load.awaitAnswers("after a swap of " + what);
      Stretch curator = load.curatorClock().next();
      Stretch others = load.organClock().next();
      Duration allowed = speed.allowed(PAUSE);
      assertEquals(Outcome.OUTCOME_APPLIED, end.getOutcome(), end::getText);
      clients.awaitProgress(ENOUGH, "after a swap of " + what);
      CycleLoad.Tally tally = load.end();
      System.out.printf(
          "%s: no answer of the curator for %d ms, of the other callers for %d ms; %s%n",
          what, curator.gap().toMillis(), others.gap().toMillis(), tally.words());
      requireNoLoss(what, tally);
      assertEquals(leader, voters.at(clients.leader()), "another node leads after " + what);
      assertTrue(
          curator.gap().compareTo(allowed) <= 0 && others.gap().compareTo(allowed) <= 0,
          () ->
              "%s: %d and %d ms without an answer are more than %d"
                  .formatted(
                      what, curator.gap().toMillis(), others.gap().toMillis(), allowed.toMillis()));
      ThreeVoters.check(clients, "a swap of " + what);
    }
    assertEquals(etcd.pid(), node.etcd().pid(), "etcd was restarted by a swap of " + what);
  }

  @Test
  @DisplayName(
      "the clock of the leader, and of a follower, steps by an hour and a day in both directions and drifts by a tenth: no node counts as dead, no call fails, the leader stays, health names the clock, and all is well when it is right again")
  void clocksStep() throws Exception {
    assumeTrue(
        !CLOCKS.isEmpty(),
        "stepping the clock of one node needs libfaketime: install the package faketime");
    Await.until(
        "each node to have looked at its clock, which it does every 5 s, since it was set right",
        () -> System.nanoTime() - setRight > LOOKED.toNanos());
    List<Double> drifts = Tier.isLong() ? DRIFTS : List.of();
    for (int round = 1; round <= ROUNDS; round++) {
      TestNode leader = leader();
      TestNode follower = voters.without(leader).get(round % 2);
      for (TestNode node : List.of(leader, follower)) {
        String place = node == leader ? "the leader" : "a follower";
        List<String> steps = Tier.isLong() ? STEPS : List.of(node == leader ? "+1h" : "-1d");
        try (FailoverClients clients = voters.clients();
            CycleLoad load = CycleLoad.over(owners, voters.cluster().firstId(), probes())) {
          for (String step : steps) {
            step(node, step, place, clients, load);
          }
          for (double rate : drifts) {
            drift(node, rate, place, clients, load);
          }
          CycleLoad.Tally tally = load.end();
          System.out.printf("steps of the clock of %s: %s%n", place, tally.words());
          requireNoLoss("steps of the clock of " + place, tally);
          assertEquals(leader, voters.at(clients.leader()), "another node leads");
          ThreeVoters.check(clients, "steps of the clock of " + place);
        }
      }
    }
  }

  private static void step(
      TestNode node, String step, String place, FailoverClients clients, CycleLoad load)
      throws Exception {
    String when = "while the clock of %s is %s".formatted(place, step);
    NodeClock clock = CLOCKS.get(node.address());
    clock.set(step);
    clients.awaitProgress(ENOUGH, when);
    load.awaitAnswers(when);
    // The leader's clock is the measure: if that one is wrong, the others name the difference.
    awaitHealth(node, DIFFERS, true, when);
    if (step.startsWith("-")) {
      awaitHealth(node, WENT_BACK, true, when);
    }
    assertFalse(health(node).out().contains(CERTIFICATE), () -> health(node).out());
    clock.set(NodeClock.TRUE);
    String after = "after the clock of %s was %s".formatted(place, step);
    awaitHealth(node, DIFFERS, false, after);
    awaitHealth(node, WENT_BACK, false, after);
    clients.awaitProgress(ENOUGH, after);
  }

  /** Lets a clock drift in small steps, since libfaketime's own rate shortens waits, too. */
  private static void drift(
      TestNode node, double rate, String place, FailoverClients clients, CycleLoad load)
      throws Exception {
    String when = "while the clock of %s drifts by %+.1f".formatted(place, rate);
    NodeClock clock = CLOCKS.get(node.address());
    long since = System.nanoTime();
    for (int tick = 0; tick < ENOUGH; tick++) {
      double seconds = (System.nanoTime() - since) / 1e9 * rate;
      clock.set(String.format(Locale.ROOT, "%+.3f", seconds));
      clients.awaitProgress(1, when);
    }
    load.awaitAnswers(when);
    assertFalse(health(node).out().contains(DIFFERS), () -> health(node).out());
    clock.set(NodeClock.TRUE);
    clients.awaitProgress(ENOUGH, "after the clock of %s drifted".formatted(place));
  }

  private static void awaitHealth(TestNode node, String code, boolean shown, String when)
      throws Exception {
    Await.until(
        TestNode.PATIENCE,
        "health %s %s %s".formatted(shown ? "to show" : "to be without", code, when),
        () -> {
          Finished health = health(node);
          return health.code() == 0 && health.out().contains(code) == shown;
        },
        () -> health(node).all());
  }

  private static Finished health(TestNode node) {
    voters.cluster().through(node.address());
    return voters.cluster().ctl("health", "-o", "wide");
  }

  /** Returns calls that each load makes: of the leader's view, and of the log of each node. */
  private static List<SteadyCaller.Call> probes() {
    List<SteadyCaller.Call> probes = new ArrayList<>();
    probes.add(LiveClusterIT::requireAllHealthy);
    for (OwnerApi each : owners) {
      probes.add(each::newestLine);
    }
    return probes;
  }

  /** Fails if the leader counts a node as dead. */
  private static void requireAllHealthy() throws Exception {
    List<Node> nodes = owners.getFirst().nodes();
    List<String> others =
        nodes.stream()
            .filter(node -> node.getHealth() != Node.Health.HEALTH_HEALTHY)
            .map(node -> node.getId() + " is " + node.getHealth())
            .toList();
    assertEquals(List.of(), others, "nodes without a heartbeat");
    assertEquals(ADDRESSES.size(), nodes.size());
  }

  private static void requireNoLoss(String what, CycleLoad.Tally tally) {
    assertEquals(0, tally.failed(), () -> what + ": failed calls: " + tally.troubles());
    assertEquals(List.of(), tally.troubles(), what);
    assertEquals(0, tally.lostWrites(), "writers whose last acknowledged write is lost: " + what);
    assertEquals(0, tally.behind(), "watchers that have not seen the last writes: " + what);
    assertEquals(0, tally.lostLines(), "lines of a log that a follower did not get: " + what);
    assertEquals(0, tally.doubledLines(), "lines of a log that came twice: " + what);
    assertTrue(tally.tokens().size() <= 1, () -> what + ": elected anew: " + tally.tokens());
  }

  private static TestNode leader() throws Exception {
    try (FailoverClients clients = voters.clients()) {
      clients.awaitProgress(1, "before the leader is asked for");
      TestNode leader = voters.at(clients.leader());
      clients.settle();
      return leader;
    }
  }
}
