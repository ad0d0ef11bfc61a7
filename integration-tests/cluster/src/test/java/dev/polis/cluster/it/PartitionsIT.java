package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.Slice;
import dev.polis.fixtures.Tier;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Cuts one of three voters off from the others, again and again, or loses a share of the packets
 * between all of them, under writers and readers over all nodes. The clients reach each node all
 * the time, so they can ask a leader that is cut off. The short form cuts off the leader, and makes
 * every second of the other disturbances.
 */
@Tag("full")
@Tag("longer")
class PartitionsIT {

  private static final int NODES = 3;

  private static final int ROUNDS = Integer.getInteger("polis.times", Tier.pick(1, 1, 30));

  /** The promise for 99 of 100 cuts of both directions. */
  private static final Duration PROMISED = Duration.ofSeconds(2);

  /**
   * The promise for cuts of one direction: the others get some more packets of a leader that hears
   * none, and etcd's own leader resigns first.
   */
  private static final Duration PROMISED_ONE_WAY = Duration.ofSeconds(5);

  private static final int PROMISED_OF = 100;

  /** The time after which a leader answers no read without etcd, and another one may lead. */
  private static final Duration RELIANCE = Duration.ofSeconds(1);

  /** The lease of a candidate, and two seconds. */
  private static final Duration SPLIT_WITHIN = Duration.ofSeconds(12);

  /**
   * TCP repeats a packet 6 s after the one before at most, then gives the peer up. etcd connects
   * within 2 s, and health has answered in 2 s.
   */
  private static final Duration BACK_WITHIN = Duration.ofSeconds(10);

  /** The writes and reads before and after a cut; the clients make more of them meanwhile. */
  private static final int ENOUGH = 30;

  /** The writes and reads while packets are lost, some thousand packets. */
  private static final int MANY = Tier.pick(100, 100, 200);

  /** The calls between two changes of a cable that comes and goes: short and long times. */
  private static final List<Integer> PACE = List.of(20, 60, 120, 10, 40);

  /** A smaller share may be below what health names, since packets within a machine count too. */
  private static final int NAMED = 5;

  /** The packets of 100 that are lost between all nodes; a link that is called bad loses one. */
  private static final List<Integer> LOST = Tier.isLong() ? List.of(1, 5, 10, 20) : List.of(5);

  /** 200 writes took 103 s where a fifth of all packets got lost. */
  private static final Duration LOSSY_PATIENCE = TestNode.PATIENCE.multipliedBy(3);

  private static final String SPLIT = "\"reason\":\"the node is SPLIT: ";

  private static final String SPLIT_METRIC =
      "polis_health_status{code=\"no-contact-to-consensus\",kind=\"organ\",name=\"cluster\"} 1.0";

  @TempDir static Path directory;

  private static SwitchedNetwork network;
  private static ThreeVoters voters;

  /**
   * Measures one cut.
   *
   * @param replaced the time to the next acknowledged write
   * @param promised the promised time
   * @param allowed the same, as long as this machine may take for it
   */
  private record Cut(Duration replaced, Duration promised, Duration allowed) {}

  /** Holds the times until nodes that were cut off showed SPLIT, and until they did no more. */
  private record Splits(List<Duration> shown, List<Duration> gone) {
    void report() {
      System.out.printf(
          "SPLIT after %s; no more after its way is back: %s%n",
          ThreeVoters.distribution(shown), ThreeVoters.distribution(gone));
    }
  }

  /** Changes the network, or a node of it. */
  private interface Change {
    void make(TestNode node) throws Exception;
  }

  @BeforeAll
  static void grow() throws Exception {
    Needs.root("a network of namespaces");
    network = SwitchedNetwork.of(NODES);
    voters =
        new ThreeVoters(directory, SwitchedNetwork.addresses(NODES), Mode.INSECURE)
            .placed(network::placed);
    voters.found();
    voters.join();
    voters.vote();
  }

  /** Gives all nodes their ways back, also after a failure. */
  @AfterEach
  void joinAll() throws Exception {
    network.calm();
    for (TestNode node : voters.nodes()) {
      join(node);
    }
  }

  @AfterAll
  static void sweep() {
    if (voters != null) {
      voters.close();
    }
    if (network != null) {
      network.close();
    }
  }

  @Test
  @DisplayName(
      "CUR-02 a leader that is cut off answers no call, shows SPLIT until it is back, and another one leads within 2 s; no acknowledged write is lost, no read is stale")
  void leaderAlone() throws Exception {
    List<Cut> cuts = new ArrayList<>();
    Splits splits = new Splits(new ArrayList<>(), new ArrayList<>());
    for (int round = 1; round <= ROUNDS; round++) {
      voters.awaitCandidates(NODES);
      try (FailoverClients clients = voters.clients()) {
        clients.awaitProgress(ENOUGH, "before the leader is cut off");
        TestNode leader = voters.at(clients.leader());
        long since =
            lose(leader, PartitionsIT::isolate, clients, PROMISED, cuts, "a leader is cut off");
        clientsBegin();
        splits.shown().add(awaitSplit(leader, since));
        answersNothing(leader, clients, since);
        splits.gone().add(heal(leader));
        clients.awaitProgress(ENOUGH, "after the leader is back");
        ThreeVoters.check(clients, "a leader was cut off");
      }
    }
    report("a leader that is cut off", cuts);
    splits.report();
  }

  /** A disturbance of the network, with its effects. */
  enum Disturbance {
    FOLLOWER("a follower that is cut off shows SPLIT and answers no call, and the others continue"),
    ONE_WAY(
        "a leader that hears the others and is not heard, or is heard and hears none, is replaced within 5 s"),
    FLAPPING("the way of a leader to the others comes and goes"),
    LOSSY("the nodes lose a share of all packets, over narrow ways");

    private final String words;

    Disturbance(String words) {
      this.words = words;
    }

    @Override
    public String toString() {
      return words;
    }
  }

  static List<Disturbance> disturbances() {
    return Slice.of(List.of(Disturbance.values()), 2);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("disturbances")
  @DisplayName("under a disturbance, no acknowledged write is lost, no read is stale")
  void disturbed(Disturbance disturbance) throws Exception {
    switch (disturbance) {
      case FOLLOWER -> followerAlone();
      case ONE_WAY -> oneWay();
      case FLAPPING -> flapping();
      case LOSSY -> lossy();
    }
  }

  private static void followerAlone() throws Exception {
    List<Cut> cuts = new ArrayList<>();
    Splits splits = new Splits(new ArrayList<>(), new ArrayList<>());
    for (int round = 1; round <= ROUNDS; round++) {
      voters.awaitCandidates(NODES);
      try (FailoverClients clients = voters.clients()) {
        clients.awaitProgress(ENOUGH, "before a follower is cut off");
        TestNode leader = voters.at(clients.leader());
        TestNode follower = voters.without(leader).get(round % 2);
        long since =
            lose(follower, PartitionsIT::isolate, clients, PROMISED, cuts, "a follower is cut off");
        splits.shown().add(awaitSplit(follower, since));
        answersNothing(follower, clients, since);
        assertEquals(
            leader, voters.at(clients.leader()), "the loss of a follower costs no leadership");
        splits.gone().add(heal(follower));
        clients.awaitProgress(ENOUGH, "after the follower is back");
        ThreeVoters.check(clients, "a follower was cut off");
      }
    }
    report("a follower that is cut off", cuts);
    splits.report();
  }

  private static void oneWay() throws Exception {
    List<Cut> mute = new ArrayList<>();
    List<Cut> deaf = new ArrayList<>();
    for (int round = 1; round <= ROUNDS; round++) {
      cutForAWhile(PartitionsIT::muteTo, mute, "a leader is not heard");
      cutForAWhile(PartitionsIT::deafTo, deaf, "a leader hears none");
    }
    report("a leader that is not heard", mute);
    report("a leader that hears none", deaf);
  }

  private static void flapping() throws Exception {
    for (int round = 1; round <= ROUNDS; round++) {
      voters.awaitCandidates(NODES);
      try (FailoverClients clients = voters.clients()) {
        clients.awaitProgress(ENOUGH, "before the way of the leader comes and goes");
        for (int calls : PACE) {
          // Each time the one that leads then.
          TestNode leader = voters.at(clients.leader());
          isolate(leader);
          clients.awaitCalls(calls, "while the leader is cut off");
          join(leader);
          clients.awaitCalls(calls, "while the leader is back");
        }
        voters.awaitCandidates(NODES);
        clients.awaitProgress(ENOUGH, "after the way of the leader has come and gone");
        ThreeVoters.check(clients, "a way came and went");
      }
    }
  }

  private static void lossy() throws Exception {
    for (int percent : LOST) {
      voters.awaitCandidates(NODES);
      try (FailoverClients clients = voters.clients()) {
        clients.awaitProgress(ENOUGH, "before packets are lost");
        network.disturb(percent);
        long since = System.nanoTime();
        clients.awaitProgress(
            MANY, "while %d of 100 packets are lost".formatted(percent), LOSSY_PATIENCE);
        Duration took = Duration.ofNanos(System.nanoTime() - since);
        long lost = network.lost();
        assertTrue(lost > 0, "no packet was lost");
        System.out.printf(
            "%d of 100 packets lost, %d in all: %d writes and reads within %d ms%n",
            percent, lost, MANY, took.toMillis());
        if (percent >= NAMED) {
          awaitHealth(
              LOSSY_PATIENCE,
              "health to name the lost packets",
              health -> health.out().contains("packets are lost: of "));
        }
        network.calm();
        clients.awaitProgress(ENOUGH, "after the last lost packet");
        ThreeVoters.check(clients, "packets were lost");
      }
    }
  }

  @Test
  @Tag("long")
  @DisplayName(
      "a leader whose whole machine is stopped is replaced when its lease ends; when it continues, it answers no stale read")
  void stopped() throws Exception {
    List<Duration> replaced = new ArrayList<>();
    for (int round = 1; round <= ROUNDS; round++) {
      voters.awaitCandidates(NODES);
      try (FailoverClients clients = voters.clients()) {
        clients.awaitProgress(ENOUGH, "before the machine is stopped");
        InetSocketAddress curator = clients.leader();
        TestNode leader = voters.at(curator);
        leader.signalMachine("STOP");
        long since = System.nanoTime();
        try {
          replaced.add(clients.awaitWriteSince(since, "while the machine is stopped"));
          clients.queueReads(curator);
          clients.awaitProgress(ENOUGH, "while the former leader is stopped");
        } finally {
          leader.signalMachine("CONT");
        }
        clients.awaitProgress(ENOUGH, "after the former leader has continued");
        ThreeVoters.check(clients, "a machine was stopped");
      }
    }
    System.out.println(
        "a leader whose machine is stopped: the next write after "
            + ThreeVoters.distribution(replaced));
  }

  private static void cutForAWhile(Change change, List<Cut> cuts, String what) throws Exception {
    voters.awaitCandidates(NODES);
    try (FailoverClients clients = voters.clients()) {
      clients.awaitProgress(ENOUGH, "before " + what);
      TestNode leader = voters.at(clients.leader());
      long since = lose(leader, change, clients, PROMISED_ONE_WAY, cuts, what);
      clients.awaitProgress(ENOUGH, "while " + what);
      answersNothing(leader, clients, since);
      join(leader);
      clients.awaitProgress(ENOUGH, "after the leader is back");
      ThreeVoters.check(clients, what);
    }
  }

  /** Makes a change, and waits for the next write; returns the time of the change. */
  private static long lose(
      TestNode node,
      Change change,
      FailoverClients clients,
      Duration promised,
      List<Cut> cuts,
      String what)
      throws Exception {
    MachineSpeed speed = MachineSpeed.measure();
    change.make(node);
    long since = System.nanoTime();
    Duration replaced = clients.awaitWriteSince(since, "while " + what);
    cuts.add(new Cut(replaced, promised, speed.allowed(promised)));
    System.out.printf("%s: the next write after %d ms%n", what, replaced.toMillis());
    return since;
  }

  private static void isolate(TestNode node) throws Exception {
    muteTo(node);
    deafTo(node);
  }

  private static void muteTo(TestNode node) throws Exception {
    for (TestNode other : voters.without(node)) {
      network.lose(node, other);
    }
  }

  private static void deafTo(TestNode node) throws Exception {
    for (TestNode other : voters.without(node)) {
      network.lose(other, node);
    }
  }

  private static void join(TestNode node) throws Exception {
    for (TestNode other : voters.without(node)) {
      network.deliver(node, other);
      network.deliver(other, node);
    }
  }

  /** Requires that clients that begin while a former leader still names itself find the next. */
  private static void clientsBegin() throws Exception {
    try (FailoverClients late = voters.clients()) {
      late.awaitProgress(ENOUGH, "of clients that begin while a leader is cut off");
      ThreeVoters.check(late, "clients have begun");
    }
  }

  /** Requires that a node that is cut off takes no write, and no read since its reliance ended. */
  private static void answersNothing(TestNode node, FailoverClients clients, long since) {
    InetSocketAddress curator = ThreeVoters.curator(node);
    assertFalse(clients.accepts(curator), () -> node.address() + " acknowledged a write");
    assertFalse(
        clients.hasAnsweredSince(curator, since + RELIANCE.toNanos()),
        () -> node.address() + " answered a read that began a second after it was cut off");
  }

  private static Duration awaitSplit(TestNode node, long since) throws Exception {
    MachineSpeed speed = MachineSpeed.measure();
    awaitHealth(node, "SPLIT", 5, true);
    Duration took = Duration.ofNanos(System.nanoTime() - since);
    speed.assertWithin("a node that is cut off showed SPLIT", SPLIT_WITHIN, took);
    assertTrue(metrics(node, "/metrics").contains(SPLIT_METRIC));
    assertTrue(metrics(node, "/metrics/cluster").contains("polis_cluster_leads 0"));
    othersMiss(node);
    return took;
  }

  /**
   * Requires that the leader of the other side counts a node as cut off, though it answers here,
   * until its etcd itself reports that it has no leader.
   */
  private static void othersMiss(TestNode node) throws Exception {
    voters.cluster().awaitLeader();
    Finished missed =
        awaitHealth(
            TestNode.PATIENCE,
            "the health of the cluster to count " + node.address() + " as cut off",
            health ->
                health.out().contains("voters up: 2 of 3; 2 must be up\nvoter ")
                    && (health.out().contains(" is cut off: it answers here")
                        || health.out().contains(" is not up: etcd has had no leader")));
    assertEquals(5, missed.code(), missed::all);
    List<String> page =
        metrics(
            voters.at(new InetSocketAddress(voters.cluster().endpoint(), ThreeVoters.CURATOR_PORT)),
            "/metrics/cluster");
    assertEquals(2, count(page, "polis_cluster_node_heard.* 1"), page::toString);
    assertEquals(
        1,
        count(page, "polis_cluster_node_heard.node=\"%s\". 0".formatted(id(node))),
        page::toString);
  }

  private static long count(List<String> page, String line) {
    return page.stream().filter(each -> each.matches(line)).count();
  }

  private static List<String> metrics(TestNode node, String path) throws Exception {
    return MetricsPage.of(voters.nodes().getFirst(), node, path)
        .lines()
        .filter(line -> line.startsWith("polis_"))
        .toList();
  }

  private static String id(TestNode node) {
    return voters.byId().entrySet().stream()
        .filter(each -> each.getValue() == node)
        .map(Map.Entry::getKey)
        .findFirst()
        .orElseThrow();
  }

  private static Duration heal(TestNode node) throws Exception {
    MachineSpeed speed = MachineSpeed.measure();
    join(node);
    long since = System.nanoTime();
    awaitHealth(node, "no SPLIT", 0, false);
    Duration took = Duration.ofNanos(System.nanoTime() - since);
    speed.assertWithin("a node whose way is back was HOME", BACK_WITHIN, took);
    return took;
  }

  private static void awaitHealth(TestNode node, String what, int code, boolean split)
      throws Exception {
    voters.cluster().through(node.address());
    awaitHealth(
        TestNode.PATIENCE,
        "polisctl health of " + node.address() + " to show " + what,
        health -> health.code() == code && isSplit(health) == split,
        "-o",
        "json");
  }

  /** Waits for an answer of polisctl health, and returns it. */
  private static Finished awaitHealth(
      Duration within, String what, Predicate<Finished> wanted, String... options)
      throws Exception {
    String[] line = Stream.concat(Stream.of("health"), Stream.of(options)).toArray(String[]::new);
    AtomicReference<Finished> health = new AtomicReference<>();
    Await.until(
        within,
        what,
        () -> {
          health.set(voters.cluster().ctl(line));
          return wanted.test(health.get());
        },
        () -> health.get().all());
    return health.get();
  }

  private static boolean isSplit(Finished health) {
    return health.out().replace("\": \"", "\":\"").contains(SPLIT);
  }

  /** Prints the distribution, and compares it with the promise. */
  private static void report(String what, List<Cut> cuts) {
    System.out.printf(
        "%s: the next write after %s%n",
        what, ThreeVoters.distribution(cuts.stream().map(Cut::replaced).toList()));
    List<Cut> late =
        cuts.stream().filter(cut -> cut.replaced().compareTo(cut.allowed()) > 0).toList();
    assertTrue(
        late.size() <= cuts.size() / PROMISED_OF,
        () ->
            "of %d cuts %d took longer than promised, also for this machine's speed: %s"
                .formatted(cuts.size(), late.size(), late));
  }
}
